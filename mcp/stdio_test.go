//go:build unix

package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

// soon bounds what must not hang.
const soon = time.Minute

// with returns the configuration of a test server with some behaviour.
func with(behaviour string) mcp.Config {
	return mcp.Config{Command: os.Args[0], Env: map[string]string{behaviourVar: behaviour}, AlwaysLoad: true}
}

// connect returns servers that have been tried once.
func connect(t *testing.T, configs map[string]mcp.Config) (*mcp.Servers, []tool.Tool) {
	t.Helper()
	ws := &workspace.Workspace{Root: t.TempDir()}
	all := mcp.New(configs, mcp.Options{Workspace: ws})
	t.Cleanup(func() {
		if err := all.Close(); err != nil {
			t.Error(err)
		}
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	})
	return all, toolsOf(t, all)
}

func toolsOf(t *testing.T, all *mcp.Servers) []tool.Tool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	tools, err := all.Tools(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

func statusOf(t *testing.T, all *mcp.Servers, name string) mcp.Status {
	t.Helper()
	for _, s := range all.Status() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no server %s", name)
	return mcp.Status{}
}

// call calls a tool as a run does.
func call(t *testing.T, tools []tool.Tool, name, input string) toolrun.Outcome {
	t.Helper()
	i := slices.IndexFunc(tools, func(x tool.Tool) bool { return x.Spec().Name == name })
	if i < 0 {
		t.Fatalf("there is no tool %s", name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	return toolrun.Do(ctx, tools[i], tool.Call{ID: "c1.0", Name: name, Input: json.RawMessage(input)})
}

// A server that misbehaves while it starts is used all the same, where it can be.
func TestMisbehavingAtStart(t *testing.T) {
	t.Parallel()
	for _, behaviour := range []string{"good", "banner", "noise", "ignore-discover", "exit-discover", "null-discover", "ignore-eof", "ignore-eof ignore-term"} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			all, tools := connect(t, map[string]mcp.Config{"s": with(behaviour)})
			if s := statusOf(t, all, "s"); s.State != mcpnames.Connected || s.ServerName != "manners" || s.Protocol != "2025-06-18" || s.Instructions != "Be kind." {
				t.Fatalf("%+v", s)
			}
			if out := call(t, tools, "mcp__s__echo", `{"text":"hello"}`); out.Result.IsError || out.Result.Text() != "hello" {
				t.Errorf("%s", out.Result.Text())
			}
		})
	}
}

// A server that does not start says why, and the others work.
func TestServersThatFail(t *testing.T) {
	t.Parallel()
	dies, silent := with("dies"), with("silent")
	dies.Env["DB_PASSWORD"] = "hunter2hunter2"
	silent.StartTimeoutMS = 1000
	confined := with("good")
	confined.Sandbox = true
	all, tools := connect(t, map[string]mcp.Config{"good": with("good"), "dies": dies, "silent": silent, "missing": {Command: "no-such-program", AlwaysLoad: true},
		"a__b": with("good"), "nothing": {}, "confined": confined, "odd": {Type: "carrier-pigeon"}, "off": {Command: "x", Disabled: true}})
	for name, want := range map[string]string{
		"dies": "the server exited with code 3; stderr: no database at ***", "silent": "the server did not start within 1s", "missing": "no-such-program", "a__b": "must not hold __",
		"nothing": "needs a command or a url", "confined": "but none is on", "odd": `no type "carrier-pigeon"`,
	} {
		if s := statusOf(t, all, name); s.State == mcpnames.Connected || !strings.Contains(s.Error, want) || strings.Contains(s.Error, "hunter2") {
			t.Errorf("%s: %s: %s", name, s.State, s.Error)
		}
	}
	if s := statusOf(t, all, "off"); s.State != mcpnames.Disabled {
		t.Errorf("%+v", s)
	}
	if out := call(t, tools, "mcp__good__echo", `{"text":"hello"}`); out.Result.Text() != "hello" {
		t.Errorf("%s", out.Result.Text())
	}
}

// A failure in a call fails the call, and the next one works.
func TestMisbehavingInCalls(t *testing.T) {
	t.Parallel()
	quick, bounded := with("good"), with("good")
	quick.TimeoutMS, bounded.MaxTimeMS = 1500, 1000
	_, tools := connect(t, map[string]mcp.Config{"s": with("noise"), "quick": quick, "bounded": bounded})
	for _, x := range []struct {
		tool, input string
		fails       bool
		want        string
		fault       toolrun.Fault
	}{
		{"fails", `{}`, true, "no such row", ""},
		{"large", `{}`, true, "larger than 16 MB", ""},
		{"deep", `{}`, false, "shallow", ""},
		{"wrong", `{}`, false, "right", ""},
		{"quick__hang", `{}`, true, "said nothing of the call for 1.5s", toolrun.TimedOut},
		{"bounded__hang", `{}`, true, "took more than 1s", toolrun.TimedOut},
		{"structured", `{"n":1}`, false, "n is 1", ""},
		{"structured", `{"n":"\"x\""}`, true, "break its own output schema", ""},
		{"late", `{}`, true, "unknown tool (error -32602)", ""},
		{"echo", `{"text":5}`, true, "text", toolrun.InvalidInput},
		{"echo", `{"text":"after"}`, false, "after", ""},
	} {
		name := x.tool
		if !strings.Contains(name, "__") {
			name = "s__" + name
		}
		out := call(t, tools, "mcp__"+name, x.input)
		if out.Result.IsError != x.fails || !strings.Contains(out.Result.Text(), x.want) || x.fault != "" && out.Fault != x.fault {
			t.Errorf("%s %s: error %v, fault %v: %.300s", x.tool, x.input, out.Result.IsError, out.Fault, out.Result.Text())
		}
	}
	if out := call(t, tools, "mcp__s__structured", `{"n":1}`); string(out.Result.Details) != `{"n":1}` {
		t.Errorf("details %s", out.Result.Details)
	}
}

// Progress is passed on, and gives a call time.
func TestProgress(t *testing.T) {
	t.Parallel()
	c := with("good")
	c.TimeoutMS = 4000 // of a call that takes 5 s
	_, tools := connect(t, map[string]mcp.Config{"s": c})
	var mu sync.Mutex
	var seen []string
	ctx := tool.WithProgress(t.Context(), func(s tool.Status) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf("%s %v", s.Text, s.Percent))
	})
	i := slices.IndexFunc(tools, func(x tool.Tool) bool { return x.Spec().Name == "mcp__s__progress" })
	out := toolrun.Do(ctx, tools[i], tool.Call{ID: "c1.0", Input: json.RawMessage(`{}`)})
	mu.Lock()
	defer mu.Unlock()
	if out.Result.Text() != "done" || len(seen) < 4 || seen[0] != "step 1 20" {
		t.Errorf("%s: %v", out.Result.Text(), seen)
	}
}

// A server gets the variables it needs and none that are ours.
func TestEnvironment(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-secret")
	t.Setenv("DATABASE_URL", "postgres://u:p@h")
	c := with("good")
	c.Env["GREETING"] = "hello"
	_, tools := connect(t, map[string]mcp.Config{"s": c})
	env := strings.Split(call(t, tools, "mcp__s__env", `{}`).Result.Text(), "\n")
	if !slices.Contains(env, "GREETING=hello") || !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") }) {
		t.Errorf("%q", env)
	}
	for _, kv := range env {
		if strings.Contains(kv, "secret") || strings.HasPrefix(kv, "DATABASE_URL") {
			t.Errorf("it got %s", kv)
		}
	}
}

// A server that dies in a call fails the call, which is not sent again, and is
// started again.
func TestCrashInCall(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	c := with("good")
	c.Env["MCP_TEST_PID"] = file
	_, tools := connect(t, map[string]mcp.Config{"s": c})
	out := call(t, tools, "mcp__s__crash", `{}`)
	for _, want := range []string{"whether it was carried out is not known", "exited with code 7", "out of cheese"} {
		if !out.Result.IsError || !strings.Contains(out.Result.Text(), want) {
			t.Errorf("%q is not in %s", want, out.Result.Text())
		}
	}
	if out := call(t, tools, "mcp__s__echo", `{"text":"back"}`); out.Result.Text() != "back" {
		t.Errorf("%s", out.Result.Text())
	}
	if n := len(pids(t, file)); n != 2 {
		t.Errorf("it was started %d times", n)
	}
}

// Of tools that no provider takes those are changed that can be, and the others
// are left out.
func TestBadTools(t *testing.T) {
	t.Parallel()
	all, tools := connect(t, map[string]mcp.Config{"s": with("bad-tools")})
	s := statusOf(t, all, "s")
	for _, want := range []string{`"echo" is listed twice`, `"refs" is left out`, `"huge" is left out`} {
		if !slices.ContainsFunc(s.Problems, func(p string) bool { return strings.Contains(p, want) }) {
			t.Errorf("no problem says %s: %q", want, s.Problems)
		}
	}
	names := map[string]bool{}
	for _, x := range tools {
		spec := x.Spec()
		if err := toolrun.Check(x); err != nil || names[spec.Name] {
			t.Errorf("%s: %v", spec.Name, err)
		}
		names[spec.Name] = true
	}
	if !names["mcp__s__none"] || !names["mcp__s__union"] || names["mcp__s__refs"] || names["mcp__s__a_b"] {
		t.Errorf("%v", names)
	}
}

// A server that announces a change whenever its list is read is not told about, and
// a list whose pages have no end is cut.
func TestListsWithoutEnd(t *testing.T) {
	t.Parallel()
	changed := make(chan mcp.Status, 100)
	ws := &workspace.Workspace{Root: t.TempDir()}
	fat := with("fat")
	fat.StartTimeoutMS = 120_000 // 16 MB are read, on a machine that may be busy
	all := mcp.New(map[string]mcp.Config{"restless": with("restless"), "fat": fat}, mcp.Options{Workspace: ws, Changed: func(s mcp.Status) { changed <- s }})
	defer ws.Close()
	defer all.Close()
	tools := toolsOf(t, all)
	if s := statusOf(t, all, "fat"); len(s.Tools) < 10 || len(s.Tools) > 16 || !strings.Contains(strings.Join(s.Problems, ""), "larger than 16 MB") {
		t.Errorf("%d tools, %s", len(s.Tools), s.Problems)
	}
	version := all.Version()
	for limit := time.Now().Add(soon); call(t, tools, "mcp__restless__lists", `{}`).Result.Text() < "4"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the list is not read again")
		}
	}
	if len(changed) != 2 || all.Version() != version {
		t.Errorf("%d changes, %d versions", len(changed), all.Version()-version)
	}
}

// A list that announces its changes is read again, all pages of it.
func TestListChanged(t *testing.T) {
	t.Parallel()
	changed := make(chan mcp.Status, 100)
	ws := &workspace.Workspace{Root: t.TempDir()}
	all := mcp.New(map[string]mcp.Config{"s": with("good")}, mcp.Options{Workspace: ws, Changed: func(s mcp.Status) { changed <- s }})
	defer ws.Close()
	defer all.Close()
	tools := toolsOf(t, all)
	call(t, tools, "mcp__s__grow", `{}`)
	states := 0
	for limit := time.After(soon); ; {
		select {
		case s := <-changed:
			states++
			if !slices.Contains(s.Tools, "mcp__s__new") {
				continue
			}
		case <-limit:
			t.Fatal("the new tool is not there")
		}
		break
	}
	if states > 3 { // connected, then the list: of four announcements one or two are followed
		t.Errorf("%d changes", states)
	}
	if n := len(toolsOf(t, all)); n != len(tools)+1 {
		t.Errorf("%d tools", n)
	}
}

// Tools that a server announces during a call are there for the very next request.
func TestAnnouncedInACall(t *testing.T) {
	t.Parallel()
	ws := &workspace.Workspace{Root: t.TempDir()}
	all := mcp.New(map[string]mcp.Config{"s": with("good")}, mcp.Options{Workspace: ws})
	defer ws.Close()
	defer all.Close()
	script := llmtest.NewServer(t, llmtest.Call(llmtest.Use("", "mcp__s__grow", map[string]any{})), llmtest.Say("end"))
	a := &agent.Agent{Model: (&anthropic.Client{APIKey: "k", BaseURL: script.URL}).Model("claude-sonnet-4-6"), Toolsets: []tool.Set{all},
		Permissions: permission.Policy{Mode: permission.Bypass}}
	toolsOf(t, all)
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	requests := script.Requests()
	if before, after := string(requests[0].Body), string(requests[1].Body); strings.Contains(before, `"name":"mcp__s__new"`) || !strings.Contains(after, `"name":"mcp__s__new"`) {
		t.Errorf("%s", after)
	}
}

func TestEndlessList(t *testing.T) {
	t.Parallel()
	all, _ := connect(t, map[string]mcp.Config{"s": with("endless")})
	if s := statusOf(t, all, "s"); s.State != mcpnames.Connected || len(s.Problems) != 1 || !strings.Contains(s.Problems[0], "no end") {
		t.Errorf("%+v", s)
	}
}

// gone waits for the end of processes.
func gone(t *testing.T, ids []int) {
	t.Helper()
	for _, id := range ids {
		for end := time.Now().Add(soon); syscall.Kill(id, 0) == nil; time.Sleep(10 * time.Millisecond) {
			if state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id)); strings.Contains(string(state), ") Z ") {
				break // it has ended; its parent has not noticed
			}
			if time.Now().After(end) {
				t.Fatalf("process %d lives", id)
			}
		}
	}
}

// Close ends all of a server: behind a shell, and one that ignores the end of its
// input and the request to end.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	c := mcp.Config{Command: "sh", Args: []string{"-c", `"$0"; true`, os.Args[0]}, AlwaysLoad: true,
		Env: map[string]string{behaviourVar: "ignore-eof ignore-term", "MCP_TEST_PID": file}}
	all, tools := connect(t, map[string]mcp.Config{"s": c})
	hung := make(chan struct{})
	go func() { // a call that hangs does not hold up the end
		defer close(hung)
		call(t, tools, "mcp__s__hang", `{}`)
	}()
	call(t, tools, "mcp__s__echo", `{"text":"x"}`)
	if err := all.Close(); err != nil {
		t.Fatal(err)
	}
	gone(t, pids(t, file))
	<-hung
}

// When the program is killed, its servers end as well.
func TestNothingIsLeftAfterKill(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), behaviourVar+"=host", "MCP_TEST_CHILD_PID="+file)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 100)
	n, err := out.Read(said)
	if err != nil || !strings.Contains(string(said[:n]), "12 tools") {
		t.Errorf("%s %v", said[:n], err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	gone(t, pids(t, file))
}

// A call that is cancelled is cancelled at the server too, and leaves it usable.
func TestCancel(t *testing.T) {
	t.Parallel()
	_, tools := connect(t, map[string]mcp.Config{"s": with("good")})
	i := slices.IndexFunc(tools, func(x tool.Tool) bool { return x.Spec().Name == "mcp__s__hang" })
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if out := toolrun.Do(ctx, tools[i], tool.Call{Name: "x", Input: json.RawMessage(`{}`)}); out.Result.Text() != "x was cancelled" {
		t.Errorf("%s", out.Result.Text())
	}
	if out := call(t, tools, "mcp__s__echo", `{"text":"still"}`); out.Result.Text() != "still" {
		t.Errorf("%s", out.Result.Text())
	}
}
