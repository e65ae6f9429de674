package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/authserver"
	"github.com/openagent-go/agent/llm/llmtest"
)

// A person logs in to a server through the program; the model then uses it, past
// the end of its token, and sees nothing of the login. After the logout it is told
// what to do.
func TestServerLogin(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	remote := sdk.NewServer(&sdk.Implementation{Name: "remote", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	sdk.AddTool(remote, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, x in) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: x.Text}}}, nil, nil
	})
	auth := authserver.New(&authserver.Server{Resource: sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return remote }, nil)})
	t.Cleanup(auth.Close)

	top := t.TempDir()
	home, opened := filepath.Join(top, "home"), filepath.Join(top, "opened") // under the working folder
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	browser := filepath.Join(top, "browser")
	if err := os.WriteFile(browser, []byte("#!/bin/sh\necho \"$1\" > "+opened+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := quotedJSON(t, map[string]any{"mcpServers": map[string]any{"remote": map[string]any{"url": auth.ResourceURL()}, "local": map[string]any{"command": "x"}}})
	if err := os.WriteFile(filepath.Join(home, "mcp.json"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	model := llmtest.NewServer(t,
		llmtest.Say("no tools"),
		llmtest.Call(llmtest.Use("", "mcp__remote__echo", map[string]any{"text": "hello"}), llmtest.Use("", "Bash", map[string]any{"command": "cat home/mcp-logins/*"}),
			llmtest.Use("", "Grep", map[string]any{"pattern": "access-", "path": filepath.Join(home, "mcp-logins"), "output_mode": "content"})),
		llmtest.Say("end"))
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = top
		cmd.Env = append(os.Environ(), "OPENAGENT_HOME="+home, "GORACE="+quickEnd, "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL="+model.URL, "BROWSER="+browser)
		return cmd
	}
	run := func(code int, args ...string) string {
		t.Helper()
		cmd := command(args...)
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Fatalf("%v exited with %d, not %d: %s", args, got, code, out)
		}
		return string(out)
	}
	for _, c := range [][]string{{"nobody", "there is no MCP server \"nobody\" (see openagent mcp list)"}, {"local", "the server takes no login"}, {"remot", "did you mean remote?"}} {
		if out := run(cli.ExitUsage, "mcp", "login", c[0]); !strings.Contains(out, c[1]) {
			t.Error(out)
		}
	}
	prompt := []string{"-p", "--output-format", "stream-json", "--permission-mode", "bypassPermissions", "use it"}
	if out := run(cli.ExitDone, prompt...); !strings.Contains(out, `"status":"needs-auth"`) || !strings.Contains(out, "openagent mcp login remote") {
		t.Error(out)
	}

	cmd := command("mcp", "login", "remote")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stdout strings.Builder
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	page, lines := "", bufio.NewScanner(stderr)
	for page == "" && lines.Scan() {
		if text := strings.TrimSpace(lines.Text()); strings.HasPrefix(text, auth.URL+"/authorize?") {
			page = text
		}
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(page) // as the person's browser
	if err != nil {
		t.Fatal(err)
	}
	shown, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || !strings.Contains(string(shown), "You can close this page") {
		t.Errorf("%s %v", shown, err)
	}
	for lines.Scan() {
		if lines.Text() != "" {
			t.Errorf("it says %s", lines.Text())
		}
	}
	if err := cmd.Wait(); err != nil || stdout.String() != "Logged in to remote.\n" {
		t.Fatalf("%v: %s", err, stdout.String())
	}
	auth.Expire(false)
	before := auth.Secrets()
	out := run(cli.ExitDone, prompt...)
	if !strings.Contains(out, `"status":"connected"`) || auth.Count("refresh") != 1 || auth.Count("authorize") != 1 {
		t.Errorf("%d refreshed, %d logins: %s", auth.Count("refresh"), auth.Count("authorize"), out)
	}
	results := model.Requests()[2].Results()
	if len(results) != 3 || results[0].Text != "hello" || !results[1].IsError || strings.Contains(results[2].Text, "mcp-logins/") {
		t.Fatalf("%+v", results)
	}
	for _, secret := range append(before, auth.Secrets()...) {
		if strings.Contains(out, secret) {
			t.Errorf("%s is in %s", secret, out)
		}
	}
	if data, err := os.ReadFile(opened); err != nil || strings.TrimSpace(string(data)) != page {
		t.Errorf("the browser was given %s: %v", data, err)
	}
	if out := run(cli.ExitDone, "mcp", "logout", "remote"); out != "Logged out of remote.\n" || auth.Count("revoke") != 1 || len(auth.Secrets()) != 0 {
		t.Error(out)
	}
	if out := run(cli.ExitDone, "mcp", "logout", "remote"); out != "There was no login to remote.\n" {
		t.Error(out)
	}
}
