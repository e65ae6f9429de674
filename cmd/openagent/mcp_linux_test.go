package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/installed"
	"github.com/openagent-go/agent/llm/llmtest"
)

// mcpServer returns the command line of an official server.
func mcpServer(t *testing.T, name string) (node, script string) {
	t.Helper()
	return installed.Program(t, "node"), installed.Module(t, "@modelcontextprotocol/"+name+"/dist/index.js")
}

// A model uses real servers through the program: of a file given, of the user, and
// of a project once it is trusted.
func TestServersOfFiles(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	node, everything := mcpServer(t, "server-everything")
	config := quotedJSON(t, map[string]any{"mcpServers": map[string]any{"everything": map[string]any{"command": node, "args": []string{everything}, "env": map[string]string{"API_TOKEN": "${TOKEN_OF_MINE:-hunter2hunter2}"}}}})
	for _, c := range []struct {
		name, file string
		args       []string
		trusted    bool
		want       bool
	}{
		{"given", "given.json", []string{"--mcp-config", "../given.json", "--strict-mcp-config"}, false, true},
		{"of the user", "home/mcp.json", nil, false, true},
		{"of a trusted project", "work/.mcp.json", nil, true, true},
		{"of a project", "work/.mcp.json", nil, false, false},
		{"of a trusted project, but strict", "work/.mcp.json", []string{"--strict-mcp-config"}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			dir := filepath.Join(top, "work")
			for _, d := range []string{"work", "home"} {
				if err := os.Mkdir(filepath.Join(top, d), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(top, c.file), config, 0o600); err != nil {
				t.Fatal(err)
			}
			steps := []llmtest.Step{llmtest.Say("end")}
			if c.want {
				steps = []llmtest.Step{
					llmtest.Call(llmtest.Use("", "mcp__everything__echo", map[string]any{"message": "hello"}), llmtest.Use("", "mcp__everything__get-sum", map[string]any{"a": 2, "b": 40}),
						llmtest.Use("", "mcp__everything__get-tiny-image", map[string]any{}), llmtest.Use("", "mcp__everything__get-env", map[string]any{}),
						llmtest.Use("", "mcp__everything__get-structured-content", map[string]any{"location": "Chicago"})),
					llmtest.Say("end")}
			}
			server := llmtest.NewServer(t, steps...)
			run := func(args ...string) string {
				t.Helper()
				cmd := exec.CommandContext(t.Context(), program, args...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "OPENAGENT_HOME="+filepath.Join(top, "home"), "GORACE="+quickEnd, "ANTHROPIC_API_KEY=k", "GITHUB_TOKEN=ghp_verysecret", "ANTHROPIC_BASE_URL="+server.URL)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				return string(out)
			}
			if c.trusted {
				if out := run("trust", "add", "."); !strings.Contains(out, "everything: "+node) {
					t.Error(out)
				}
			}
			out := run(append(c.args, "-p", "--output-format", "stream-json", "--permission-mode", "bypassPermissions", "use it")...)
			if !c.want {
				if strict := len(c.args) > 0; !strings.Contains(out, `"mcp_servers":[]`) || strings.Contains(out, "openagent trust add") == strict {
					t.Error(out)
				}
				return
			}
			if !strings.Contains(out, `"mcp_servers":[{"name":"everything","status":"connected"}]`) {
				t.Error(out)
			}
			results := server.Requests()[1].Results()
			for i, want := range []string{"Echo: hello", "42", "", "PATH", "temperature"} {
				if i >= len(results) || results[i].IsError || !strings.Contains(results[i].Text, want) {
					t.Fatalf("no %s in %+v", want, results)
				}
			}
			if env := results[3].Text; strings.Contains(env, "verysecret") || strings.Contains(env, "ANTHROPIC") || strings.Contains(env, "hunter2") || !strings.Contains(env, `"API_TOKEN": "***"`) {
				t.Error(env)
			}
		})
	}
}

func quotedJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
