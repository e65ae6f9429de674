//go:build unix

package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/installed"
	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/toolhost"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/tool"
)

// officialServer returns the command line of an official server.
func officialServer(t *testing.T, name string) (node, script string) {
	t.Helper()
	return installed.Program(t, "node"), installed.Module(t, "@modelcontextprotocol/"+name+"/dist/index.js")
}

// listening starts server-everything on the network and returns its address.
func listening(t *testing.T, transport string) string {
	t.Helper()
	node, script := officialServer(t, "server-everything")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	cmd := exec.Command(node, script, transport)
	cmd.Env = append(os.Environ(), fmt.Sprintf("PORT=%d", port))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait() // it was killed
	})
	ready := make(chan struct{})
	go func() {
		var once sync.Once
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.Contains(lines.Text(), fmt.Sprint(port)) {
				once.Do(func() { close(ready) })
			}
		}
	}()
	select {
	case <-ready:
	case <-time.After(soon):
		t.Fatal("the server does not listen")
	}
	path := "/mcp"
	if transport == "sse" {
		path = "/sse"
	}
	return fmt.Sprintf("http://127.0.0.1:%d%s", port, path)
}

// answering is a run whose person accepts everything.
type answering struct {
	mu    sync.Mutex
	asked int
}

func (a *answering) Elicit(context.Context, toolhost.Elicitation) toolhost.Elicited {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	return toolhost.Elicited{Action: toolhost.Accepted, Content: []byte(`{"name":"Ada"}`)}
}

func (a *answering) Sample(_ context.Context, s toolhost.Sampling) (toolhost.Sampled, error) {
	return toolhost.Sampled{Text: "sampled for " + s.Tool + ": " + s.Messages[0].Content.Text(), Model: "m"}, nil
}

// The official servers: all that they have, by each of their transports.
func TestOfficialServers(t *testing.T) {
	t.Parallel()
	node, everything := officialServer(t, "server-everything")
	for _, kind := range []string{mcpnames.Stdio, mcpnames.HTTP, mcpnames.SSE} {
		t.Run("everything "+kind, func(t *testing.T) {
			t.Parallel()
			c := mcp.Config{Command: node, Args: []string{everything}, StartTimeoutMS: 60_000}
			switch kind {
			case mcpnames.HTTP:
				c = mcp.Config{URL: listening(t, "streamableHttp")}
			case mcpnames.SSE:
				c = mcp.Config{Type: mcpnames.SSE, URL: listening(t, "sse")}
			}
			c.AlwaysLoad, c.Sampling = true, true
			all, tools := connect(t, map[string]mcp.Config{"e": c})
			if st := statusOf(t, all, "e"); st.State != mcpnames.Connected || st.Instructions == "" {
				t.Fatalf("%+v", st)
			}
			if out := call(t, tools, "mcp__e__echo", `{"message":"hello"}`); out.Result.Text() != "Echo: hello" {
				t.Error(out.Result.Text())
			}
			if len(all.Prompts()) < 3 {
				t.Errorf("%+v", all.Prompts())
			}
			if blocks, err := all.Prompt(t.Context(), "mcp__e__args-prompt", "Paris"); err != nil || !strings.Contains(blocks.Text(), "Paris") {
				t.Error(blocks, err)
			}
			if list, err := all.Resources(t.Context(), "e"); err != nil || len(list) < 5 {
				t.Error(len(list), err)
			}
			if parts, err := all.ReadResource(t.Context(), "e", "demo://resource/dynamic/text/1"); err != nil || len(parts) != 1 {
				t.Error(parts, err)
			}
			var mu sync.Mutex
			var progress []tool.Status
			run := new(answering)
			ctx := toolhost.WithHost(tool.WithProgress(t.Context(), func(s tool.Status) {
				mu.Lock()
				defer mu.Unlock()
				progress = append(progress, s)
			}), run)
			do := func(name, input string) string {
				for _, x := range tools {
					if x.Spec().Name == "mcp__e__"+name {
						return toolrun.Do(ctx, x, tool.Call{ID: "c1.0", Name: x.Spec().Name, Input: []byte(input)}).Result.Text()
					}
				}
				return "there is no tool " + name
			}
			if text := do("trigger-long-running-operation", `{"duration":1,"steps":2}`); !strings.Contains(text, "completed") {
				t.Error(text)
			}
			mu.Lock()
			if len(progress) == 0 || progress[len(progress)-1].Percent == 0 {
				t.Errorf("%+v", progress)
			}
			mu.Unlock()
			if text := do("trigger-elicitation-request", `{}`); run.asked != 1 || !strings.Contains(text, "Ada") {
				t.Error(run.asked, text)
			}
			if text := do("trigger-sampling-request", `{"prompt":"Who was Ada?","maxTokens":50}`); !strings.Contains(text, "sampled for mcp__e__sampling") || !strings.Contains(text, "Who was Ada?") {
				t.Error(text)
			}
			if text := do("get-roots-list", `{}`); !strings.Contains(text, "file://") {
				t.Error(text)
			}
		})
	}
	for name, c := range map[string]struct {
		args  []string
		tools int
		tool  string
		input string
		want  string
	}{
		"server-filesystem": {[]string{"."}, 14, "write_file", `{"path":"note.txt","content":"hello"}`, "note.txt"},
		"server-memory":     {nil, 9, "create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["counts"]}]}`, "Ada"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node, script := officialServer(t, name)
			file := filepath.Join(t.TempDir(), "memory.json")
			_, tools := connect(t, map[string]mcp.Config{"s": {Command: node, Args: append([]string{script}, c.args...), Env: map[string]string{"MEMORY_FILE_PATH": file}, AlwaysLoad: true, StartTimeoutMS: 60_000}})
			if len(tools) != c.tools {
				t.Errorf("%d tools", len(tools))
			}
			if out := call(t, tools, "mcp__s__"+c.tool, c.input); out.Result.IsError || !strings.Contains(out.Result.Text(), c.want) {
				t.Error(out.Result.Text())
			}
		})
	}
}
