package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/openagent-go/agent/llm/llmtest"
)

// The server starts with the flags of the documented unit and container file, and systemd accepts the unit.
func TestServiceFiles(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "command", "serve.md"))
	if err != nil {
		t.Fatal(err)
	}
	find := func(expression string) string {
		t.Helper()
		m := regexp.MustCompile(expression).FindStringSubmatch(string(page))
		if m == nil {
			t.Fatalf("docs/command/serve.md has no %s", expression)
		}
		return m[1]
	}
	unit := find("(?s)```ini\n(.*?)```")
	var entry []string
	if err := json.Unmarshal([]byte(find(`(?m)^ENTRYPOINT (.*)$`)), &entry); err != nil {
		t.Fatal(err)
	}
	f := newFolderOfTriggers(t, t.TempDir(), llmtest.NewServer(t))
	for _, args := range [][]string{strings.Fields(find(`(?m)^ExecStart=(.*)$`)), entry} {
		if len(args) < 2 || args[0] != "/usr/local/bin/openagent" || args[1] != "serve" {
			t.Fatalf("the command is %q", args)
		}
		args = args[2:]
		for i, a := range args {
			if a == "0.0.0.0:4777" {
				args[i] = "127.0.0.1:0"
			}
		}
		if !slices.Contains(args, "--listen") {
			args = append(args, "--listen", "127.0.0.1:0")
		}
		s := f.serveSessions(args...)
		s.asks("GET", "/v1/sessions", "", 200)
		if code := s.end(syscall.SIGTERM); strconv.Itoa(code) != find(`(?m)^SuccessExitStatus=(.*)$`) {
			t.Errorf("%q: exit code %d: %s", args, code, s.stderr.String())
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not here: the unit is not verified")
		return
	}
	file := filepath.Join(t.TempDir(), "openagent.service")
	unit = strings.ReplaceAll(unit, "/usr/local/bin/openagent", "/bin/true") // the program has to be there
	if err := os.WriteFile(file, []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), analyze, "verify", file).CombinedOutput()
	if strings.Contains(string(out), "openagent.service") { // it may complain about other units of the machine
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}
