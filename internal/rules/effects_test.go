package rules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/rules/effects"
)

// linesOf returns the commands of a file in testdata. A command with an open quote
// goes on in the next line.
func linesOf(t *testing.T, name string) (out []string) {
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	whole := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if whole == "" && (line == "" || strings.HasPrefix(line, "# ")) {
			continue
		}
		if whole != "" {
			whole += "\n"
		}
		if whole += line; strings.Count(whole, `"`)%2 == 0 {
			out, whole = append(out, whole), ""
		}
	}
	return out
}

// developed makes a folder with what the lines name.
func developed(t *testing.T) string {
	dir := t.TempDir()
	for _, name := range []string{"a.txt", "b.txt", "x.py", "w.py", "w.sh", "src/main.go", "src/x.py", "src/tool.py", "scripts/test.sh", "gradlew", "src/index.js", "tests/test_x.py"} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "leak")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Ordinary development runs in mode auto without a question.
func TestAutoRuns(t *testing.T) {
	dir, lines := developed(t), linesOf(t, "auto_runs.txt")
	for _, line := range lines {
		if d := (Policy{Mode: Auto}).Decide(run(dir, line)); d.Behavior != Allowed {
			t.Errorf("%s: %s", line, d.Reason)
		}
	}
	if len(lines) < 80 {
		t.Errorf("%d lines", len(lines))
	}
}

// What deletes, escalates, leaves the folders or is not understood asks in mode auto,
// in every spelling: by itself and with wrappers, in lists, groups and shells.
func TestAutoAsks(t *testing.T) {
	dir, lines := developed(t), linesOf(t, "auto_asks.txt")
	for _, line := range lines {
		for _, form := range []string{"%", "true; %", "{ %\n}", "if true; then %\nfi", "cd src && cd .. && %"} {
			line := strings.ReplaceAll(form, "%", line)
			if d := (Policy{Mode: Auto}).Decide(run(dir, line)); d.Behavior == Allowed {
				t.Errorf("%q runs: %s", line, d.Reason)
			}
		}
	}
	if len(lines) < 200 {
		t.Errorf("%d lines", len(lines))
	}
}

// Each program and each subcommand of the table can be reached, and its line is one
// that can be read.
func TestEffectsTable(t *testing.T) {
	kinds := map[string]bool{"paths": true, "text": true, "none": true, "script": true, "command": true, "subs": true, "variables": true}
	for name, e := range effects.Effects() {
		if !kinds[e.Operands] {
			t.Errorf("%s: operands %q", name, e.Operands)
		}
		if i := strings.LastIndexByte(name, '>'); i >= 0 {
			if above := effects.Effects()[name[:i]]; above == nil && e.Operands != "command" && !strings.HasPrefix(name, "python>") || above != nil && above.Operands != "subs" && !strings.HasPrefix(name, "python>") {
				t.Errorf("%s: nothing leads to it", name)
			}
		}
		if effects.DangerOf(name) != "" {
			t.Errorf("%s always asks", name)
		}
	}
}

// A rule for any arguments is suggested for a program of which nothing is known, and
// not for a use that is dangerous.
func TestSuggestUnknownProgram(t *testing.T) {
	dir := developed(t)
	for line, want := range map[string]Rule{
		"tool run x": "Bash(tool *)", "tool run /etc/x": "Bash(tool run /etc/x)", "git reset --har": "Bash(git reset --har)", "git fetch --upl=x": "Bash(git fetch --upl=x)", "go test ./...": "Bash(go test *)",
	} {
		if got := run(dir, line).Suggest(); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %s", line, got, want)
		}
	}
}
