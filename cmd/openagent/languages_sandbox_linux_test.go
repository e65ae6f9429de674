package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm/llmtest"
)

// A real language server works in the sandbox, in the folder and in a worktree. It has no
// secrets, and cannot write elsewhere.
func TestLanguageServerInSandbox(t *testing.T) {
	t.Parallel()
	if !confines() {
		t.Skip("commands cannot be confined here")
	}
	gopls := goplsPath(t)
	program, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	top := t.TempDir()
	home, dir, outside := filepath.Join(top, "home"), filepath.Join(top, "work"), filepath.Join(top, "outside")
	wrapper, cache := filepath.Join(home, "gopls.sh"), filepath.Join(top, "cache")
	files := map[string]string{
		filepath.Join(dir, "go.mod"):  "module example.com/p\n\ngo 1.21\n",
		filepath.Join(dir, "a.go"):    "package p\n\nfunc Hello() string { return \"hi\" }\n",
		filepath.Join(outside, "was"): "",
		wrapper:                       "#!/bin/sh\nenv > env.of.server\ntouch " + outside + "/made\nexec " + gopls + ` "$@"` + "\n",
		filepath.Join(home, ".openagent", "settings.json"): `{"languageServers":[{"name":"gopls","command":"` + wrapper + `"}],
			"sandbox":{"filesystem":{"allowWrite":["` + cache + `"]}}}`,
		filepath.Join(cache, "was"): "",
	}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	ask := llmtest.Use("", "LSP", map[string]any{"operation": "findReferences", "file_path": "a.go", "line": 3, "query": "Hello"})
	server := llmtest.NewServer(t,
		llmtest.Call(ask),
		llmtest.Call(llmtest.Use("", "EnterWorktree", map[string]any{"name": "w"})),
		llmtest.Call(llmtest.Use("", "Bash", map[string]any{"command": "echo 'func Other() string { return Hello() }' >> a.go"})),
		llmtest.Call(ask), llmtest.Say("end"))
	cmd := exec.CommandContext(t.Context(), program, "-p", "--tools", "all", "--sandbox", "on", "--permission-mode", "bypassPermissions", "look")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+home, "PATH="+filepath.Dir(goTool)+":/usr/bin:/bin", "GOFLAGS=-mod=mod", "XDG_CACHE_HOME="+cache, "GOCACHE="+filepath.Join(cache, "go"), "GORACE="+quickEnd,
		"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL="+server.URL, "AWS_BEARER_TOKEN_BEDROCK=hunter2", "DATABASE_URL=hunter2")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	requests := server.Requests()
	result := func(i int) string { return requests[i].Results()[0].Text }
	if got := result(1); !strings.HasPrefix(got, "a.go:3:6:") {
		t.Errorf("in the folder: %s", got)
	}
	if got := result(4); !strings.Contains(got, "a.go:4:30:") {
		t.Errorf("in the worktree: %s", got)
	}
	if env, err := os.ReadFile(filepath.Join(dir, "env.of.server")); err != nil || strings.Contains(string(env), "hunter2") {
		t.Errorf("%v: the server has secrets:\n%s", err, env)
	}
	if _, err := os.Stat(filepath.Join(outside, "made")); err == nil {
		t.Error("the server wrote outside of the folder")
	}
}
