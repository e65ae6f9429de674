package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/installed"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/llm/llmtest"
)

// goplsPath is where the language server for Go is.
func goplsPath(t *testing.T) string { return installed.Server(t, "bin/gopls", "gopls") }

// The settings name the language server, and what changes a file tells what it
// finds. A project names none unless it is trusted.
func TestLanguageServerOfSettings(t *testing.T) {
	t.Parallel()
	gopls := goplsPath(t)
	program, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	const broken = "package p\n\nvar X int = \"text\"\n"
	for _, c := range []struct {
		name, file string
		trusted    bool
		want       bool
	}{
		{"of the user", "home/settings.json", false, true},
		{"of a trusted project", "work/.openagent/settings.json", true, true},
		{"of a project", "work/.openagent/settings.json", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			home, dir := filepath.Join(top, "home"), filepath.Join(top, "work")
			env := append(os.Environ(), "OPENAGENT_HOME="+home, "PATH="+filepath.Dir(goTool)+":/usr/bin:/bin", "HOME="+top, "GOFLAGS=-mod=mod", "GORACE="+quickEnd, "ANTHROPIC_API_KEY=k")
			for name, text := range map[string]string{
				"work/go.mod": "module example.com/p\n\ngo 1.21\n", "work/p.go": "package p\n",
				c.file: `{"languageServers":[{"name":"gopls","command":"` + gopls + `","env":{"GOTOKEN_TOKEN":"hunter2"}}],"diagnosticsAfterEdits":true}`,
			} {
				path := filepath.Join(top, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			server := llmtest.NewServer(t,
				llmtest.Call(llmtest.Use("", "Read", map[string]any{"file_path": "p.go"})),
				llmtest.Call(llmtest.Use("", "LSP", map[string]any{"operation": "documentSymbol", "file_path": "p.go"})), // the server has begun
				llmtest.Call(llmtest.Use("", "Write", map[string]any{"file_path": "p.go", "content": broken})),
				llmtest.Say("end"))
			run := func(args ...string) string {
				t.Helper()
				cmd := exec.CommandContext(t.Context(), program, args...)
				cmd.Dir, cmd.Env = dir, append(env, "ANTHROPIC_BASE_URL="+server.URL)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				return string(out)
			}
			if c.trusted {
				run("trust", "add", dir)
			}
			out := run("-p", "--tools", "core,LSP", "--permission-mode", "bypassPermissions", "break it")
			if ignored := strings.Contains(out, "is not trusted, so these settings are ignored: languageServers"); ignored == c.want {
				t.Errorf("ignored: %v: %s", ignored, out)
			}
			results := server.Requests()[3].Results()
			if got := results[len(results)-1].Text; strings.Contains(got, "language server reports errors") != c.want {
				t.Errorf("after the change: %s", got)
			}
			if out += run("config"); strings.Contains(out, "hunter2") {
				t.Error(out)
			}
		})
	}
}

func TestLanguageServersOverBuiltIn(t *testing.T) {
	t.Parallel()
	load := func(text string) *config.Settings {
		s, err := config.Load(config.Options{Extra: text})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	list, err := parts.LanguageServers(load(`{"languageServers":[{"name":"zls","command":"zls","extensions":{".zig":"zig"}},{"name":"clangd","args":["-x"]}]}`))
	if err != nil || len(list) != 6 || list[0].Name != "zls" || list[1].Command != "clangd" || list[1].Args[0] != "-x" || list[1].Extensions[".c"] != "c" || list[2].Name != "gopls" {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err := parts.LanguageServers(load(`{}`)); list != nil || err != nil {
		t.Errorf("%+v, %v", list, err)
	}
	for text, want := range map[string]string{
		`{"languageServers":[{"name":"zls","extensions":{".zig":"zig"}}]}`: "zls has no command",
		`{"languageServers":[{"name":"zls","command":"zls"}]}`:             "zls has no extensions",
	} {
		if _, err := parts.LanguageServers(load(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
