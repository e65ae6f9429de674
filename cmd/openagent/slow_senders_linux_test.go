package main

import (
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/cmd/openagent/internal/automation"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/command/mcp"
	"github.com/openagent-go/agent/internal/triggerstore"
	"github.com/openagent-go/agent/llm/llmtest"
)

// unfinished are beginnings of requests to a path.
func unfinished(path string) []string {
	head := "POST " + path + " HTTP/1.1\r\nHost: x\r\n"
	return []string{"", "P", head + "X-A: ", head + "Content-Length: 100\r\n\r\n{", head + "Content-Length: 9\r\nExpect: 100-continue\r\n\r\n", head + "Content-Length: 0\r\n\r\n"}
}

// holdOpen opens more connections than a server serves at a time, and ends no request.
func holdOpen(t *testing.T, address, path string) []net.Conn {
	t.Helper()
	var held []net.Conn
	says := unfinished(path)
	for i := range automation.MaxConnections + 44 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := io.WriteString(c, says[i%len(says)]); err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	return held
}

// Senders that never finish a request take no place from signed requests. The
// oldest of them lose their places; the newest are still connected afterwards.
func TestTriggersSlowSenders(t *testing.T) {
	t.Parallel()
	server := llmtest.NewServer(t, llmtest.Say("built"))
	f := newFolderOfTriggers(t, t.TempDir(), server)
	build, secret := f.add("build", "Build it.")
	s := f.serve()
	held := holdOpen(t, strings.TrimPrefix(s.start.Address, "http://"), "/triggers/"+build.ID)
	a, err := (&triggerstore.Client{AllowPrivate: true}).Send(t.Context(), s.start.Address+"/triggers/"+build.ID, secret, nil)
	if err != nil || a.Status != http.StatusAccepted {
		t.Fatalf("%+v, %v", a, err)
	}
	var ran automation.TriggerOutcome
	if s.line(&ran); ran.Status != "done" {
		t.Errorf("%+v", ran)
	}
	for _, c := range held[:len(held)-automation.MaxConnections] {
		_, _ = io.Copy(io.Discard, c) // ends: its place is taken
	}
	finishes(t, held)
	if code := s.end(syscall.SIGTERM); code != cli.ExitTerminated {
		t.Errorf("exit code %d: %s", code, s.stderr.Bytes())
	}
}

// finishes finishes the last request whose headers are unfinished, and gets an answer.
func finishes(t *testing.T, held []net.Conn) {
	t.Helper()
	kinds := len(unfinished(""))
	c := held[(len(held)-3)/kinds*kinds+2]
	if _, err := io.WriteString(c, "b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(c); err != nil || !strings.Contains(string(answer), " 401 ") {
		t.Errorf("a slow sender got %q, %v", answer, err)
	}
}

// Nor do they keep out MCP clients that have the token.
func TestServeHTTPSlowSenders(t *testing.T) {
	t.Parallel()
	cmd := servingMCP(t, nil, "--http", "127.0.0.1:0")
	url, token := begin(t, cmd)
	address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), mcp.ServerPath)
	held := holdOpen(t, address, mcp.ServerPath)
	c := clientOf(t, &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: sending(token)}}, "allow", "2025-11-25")
	held = append(held, holdOpen(t, address, mcp.ServerPath)...)
	if text, r := callOf(t, c, "Read", map[string]any{"file_path": "a.txt"}); r.IsError || !strings.Contains(text, "one") {
		t.Errorf("%s", text)
	}
	finishes(t, held)
	c.Close()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // by the signal
}
