package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestModuleFiles: the modules of this repository agree about the version of the library. Only the
// command is installed by go install, which refuses replace lines.
func TestModuleFiles(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	find := func(name, pattern string) string {
		found := regexp.MustCompile(`(?m)` + pattern).FindStringSubmatch(read(name))
		if found == nil {
			t.Fatalf("%s has no line like %s", name, pattern)
		}
		return found[1]
	}
	required := `^(?:require)?\s*` + regexp.QuoteMeta(module) + ` (v\S+)$`
	version := find("cmd/openagent/go.mod", required)
	for name, pattern := range map[string]string{
		"go.work":                           `^\s` + regexp.QuoteMeta(module) + ` (v\S+) => \./$`,
		"otel/go.mod":                       required,
		"otel/otlptest/go.mod":              required,
		"postgres/go.mod":                   required,
		"temporal/go.mod":                   required,
		"postgres/temporaltest/go.mod":      required,
		"a2a/go.mod":                        required,
		"cmd/openagent/go.mod":              `^\s*` + regexp.QuoteMeta(module) + `/postgres (v\S+)$`,
		"cmd/openagent/registry/agent.json": `"version": "([^"]+)"`,
	} {
		if v := find(name, pattern); strings.TrimPrefix(v, "v") != strings.TrimPrefix(version, "v") {
			t.Errorf("%s says %s, cmd/openagent/go.mod says %s", name, v, version)
		}
	}
	if strings.Contains(read("cmd/openagent/go.mod"), "replace") {
		t.Error("cmd/openagent/go.mod has a replace line: go install refuses it")
	}
}
