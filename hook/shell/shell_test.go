package shell_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/hook/shell"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func space(t testing.TB) *workspace.Workspace {
	if runtime.GOOS == "windows" {
		t.Skip("needs bash")
	}
	ws := &workspace.Workspace{Root: t.TempDir(), Env: map[string]string{"GIVEN": "by the host"}}
	t.Cleanup(func() { ws.Close() })
	return ws
}

// run calls a shell hook with an input, as a run does.
func run(t testing.TB, ws *workspace.Workspace, timeout time.Duration, line string, in hook.Input) hookrun.Outcome {
	h := shell.Hook(in.Event, "", shell.Command{Workspace: ws, Line: line})
	h.Timeout = timeout
	set, err := hookrun.Compile([]hook.Hook{h})
	if err != nil {
		t.Fatal(err)
	}
	return set.Run(t.Context(), in, nil)
}

// Commands and their outcomes, at events that they guard and at others.
func TestCommand(t *testing.T) {
	ws := space(t)
	for _, c := range []struct {
		line    string
		want    hook.Output // of PreToolUse
		failure string
	}{
		{"true", hook.Output{}, ""},
		{"cat > /dev/null; echo seen", hook.Output{Message: "seen"}, ""},
		{"echo not this way >&2; exit 2", hook.Output{Block: true, Permission: permission.Denied, Reason: "not this way"}, ""},
		{"exit 2", hook.Output{Block: true, Permission: permission.Denied, Reason: "a hook blocks it and gives no reason"}, ""},
		{`echo '{"decision":"block","reason":"in JSON"}'`, hook.Output{Block: true, Permission: permission.Denied, Reason: "in JSON"}, ""},
		{`echo '{"hookSpecificOutput":{"permissionDecision":"allow"}}'`, hook.Output{Permission: permission.Allowed}, ""},
		{`echo '{"decision":"block"}'; echo ignored >&2; exit 2`, hook.Output{Block: true, Permission: permission.Denied, Reason: "ignored"}, ""},
		// M5 and M6
		{"echo broken >&2; exit 1", hook.Output{}, "exit code 1: broken"},
		{"exit 127", hook.Output{}, "exit code 127"},
		{"/no/such/program", hook.Output{}, "exit code 127"},
		{"kill -9 $$", hook.Output{}, "exit code 137"},
		{"sleep 60", hook.Output{}, "it did not end within"},
		{"trap '' TERM; sleep 60 & wait; sleep 60", hook.Output{}, "it did not end within"},
		{`echo '{"decision":'`, hook.Output{}, "reading its JSON"},
		{`echo '{"decision":7}'`, hook.Output{}, "reading its JSON"},
		{"head -c 10000000 /dev/zero | tr '\\0' x", hook.Output{}, "it wrote more than 1024 KB"},
		{"head -c 10000000 /dev/zero | tr '\\0' x >&2", hook.Output{}, "it wrote more than 1024 KB"},
	} {
		for _, e := range []hook.Event{hook.PreToolUse, hook.PostToolUse} {
			limit := 30 * time.Second
			if strings.Contains(c.failure, "did not end") {
				limit = 300 * time.Millisecond
			}
			out := run(t, ws, limit, c.line, hook.Input{Event: e, Dir: ws.Root, Tool: "Bash"})
			if c.failure != "" {
				if len(out.Errors) != 1 || !strings.Contains(out.Errors[0].Error(), c.failure) || out.Block != hookrun.Guards(e) {
					t.Errorf("%s at %s: %+v", c.line, e, out)
				}
				continue
			}
			if e == hook.PostToolUse {
				continue
			}
			if got, want := fmt.Sprintf("%+v", out.Output), fmt.Sprintf("%+v", c.want); len(out.Errors) > 0 || got != want {
				t.Errorf("%s: %v\n%s, want\n%s", c.line, out.Errors, got, want)
			}
		}
	}
}

// A hook that never reads its input does not hang, however long that is.
func TestUnreadInput(t *testing.T) {
	ws := space(t)
	big, err := json.Marshal(map[string]string{"content": strings.Repeat("x", 8<<20)})
	if err != nil {
		t.Fatal(err)
	}
	in := hook.Input{Event: hook.PreToolUse, Dir: ws.Root, Tool: "Write", Input: big}
	if out := run(t, ws, time.Minute, "echo ok", in); out.Message != "ok" || len(out.Errors) > 0 {
		t.Errorf("%+v", out)
	}
	if out := run(t, ws, time.Minute, "echo read $(wc -c)", in); len(out.Errors) > 0 || len(out.Message) < 7 {
		t.Errorf("%+v", out)
	}
}

// All that a late hook has started is ended.
func TestTreeEnds(t *testing.T) {
	ws := space(t)
	file := filepath.Join(ws.Root, "pids")
	line := "(setsid sleep 300 & echo $! >> pids; wait) & echo $! >> pids; sleep 300"
	out := run(t, ws, 500*time.Millisecond, line, hook.Input{Event: hook.Stop, Dir: ws.Root})
	if len(out.Errors) != 1 {
		t.Fatalf("%+v", out)
	}
	ws.Close() // waits for the process that is being ended
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range strings.Fields(string(data)) {
		if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
			t.Errorf("process %s goes on: %s", pid, stat)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-secret")
	t.Setenv("MY_TOKEN", "secret")
	ws := space(t)
	sub := filepath.Join(ws.Root, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	line := `echo "$HOOK_EVENT|$HOOK_TOOL_NAME|$HOOK_SESSION_ID|$HOOK_CWD|$CLAUDE_PROJECT_DIR|$GIVEN|$ANTHROPIC_API_KEY$MY_TOKEN|$OPENAGENT_HOOK_DEPTH|$PWD"`
	out := run(t, ws, 0, line, hook.Input{Event: hook.PreToolUse, Session: "s1", Dir: sub, Tool: "Bash"})
	if want := "PreToolUse|Bash|s1|" + sub + "|" + ws.Root + "|by the host||1|" + sub; out.Message != want {
		t.Errorf("got  %s\nwant %s", out.Message, want)
	}
	for _, dir := range []string{"", "/no/such/folder"} {
		if out := run(t, ws, 0, "pwd", hook.Input{Event: hook.Stop, Dir: dir}); out.Message != ws.Root {
			t.Errorf("in %q it runs in %+v", dir, out)
		}
	}
}

// An asynchronous command continues by itself.
func TestAsync(t *testing.T) {
	ws := space(t)
	for name, c := range map[string]shell.Command{
		"set":  {Workspace: ws, Line: "until [ -e go ]; do sleep 0.01; done; touch set", Async: true},
		"said": {Workspace: ws, Line: `echo '{"async":true}'; until [ -e go ]; do sleep 0.01; done; touch said`},
	} {
		out, err := shell.Hook(hook.PostToolUse, "", c).Func(t.Context(), &hook.Input{Event: hook.PostToolUse, Dir: ws.Root})
		if err != nil || !out.Async {
			t.Fatalf("%s: %+v, %v", name, out, err)
		}
		if _, err := os.Stat(filepath.Join(ws.Root, name)); err == nil {
			t.Errorf("%s was waited for", name)
		}
	}
	if err := os.WriteFile(filepath.Join(ws.Root, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"set", "said"} {
		for i := 0; ; i++ {
			if _, err := os.Stat(filepath.Join(ws.Root, name)); err == nil {
				break
			} else if i > 3000 {
				t.Fatalf("%s did not go on", name)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// A line that a hook writes to standard error is progress.
func TestProgress(t *testing.T) {
	ws := space(t)
	set, err := hookrun.Compile([]hook.Hook{shell.Hook(hook.Stop, "", shell.Command{Workspace: ws, Line: "echo half-way >&2"})})
	if err != nil {
		t.Fatal(err)
	}
	steps := make(chan hookrun.Step, 10)
	set.Run(t.Context(), hook.Input{Event: hook.Stop, Dir: ws.Root}, func(s hookrun.Step) { steps <- s })
	close(steps)
	var got []string
	for s := range steps {
		got = append(got, fmt.Sprint(s.Phase, s.Line))
	}
	if fmt.Sprint(got) != "[0 1half-way 2]" {
		t.Errorf("saw %v", got)
	}
}

func TestUnusable(t *testing.T) {
	for _, c := range []shell.Command{{Line: "true"}, {Workspace: space(t), Line: " "}} {
		if _, err := shell.Hook(hook.PostToolUse, "", c).Func(context.Background(), &hook.Input{}); err == nil {
			t.Errorf("%+v runs", c)
		}
	}
}
