//go:build unix

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

// A console is a session that calls the tools of a workspace.
type console struct {
	ws    *workspace.Workspace
	tools map[string]tool.Tool
	dir   string // of the calls
	state json.RawMessage
	fault toolrun.Fault // that the next calls should have
}

func newConsole(t *testing.T) *console {
	t.Helper()
	ws := &workspace.Workspace{Root: t.TempDir(), OutputDir: t.TempDir()}
	t.Cleanup(func() {
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &console{ws: ws, tools: map[string]tool.Tool{}}
	for _, x := range []tool.Tool{Bash(ws), BashOutput(ws), KillShell(ws)} {
		c.tools[x.Spec().Name] = x
	}
	return c
}

func (c *console) call(ctx context.Context, t *testing.T, name string, input map[string]any) (*tool.Result, bashDetails) {
	t.Helper()
	in, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	call := tool.Call{ID: "c1.0", Name: name, Session: "s", Dir: c.dir, Input: in, State: c.state}
	out := toolrun.Run(ctx, c.tools[name], call, 5*time.Second)
	if out.Fault != c.fault || out.Err != nil {
		t.Errorf("%s %s: fault %q, %v", name, in, out.Fault, out.Err)
	}
	if s := out.Result.Patch.State; s != nil {
		c.state = s
	}
	var d bashDetails
	if out.Result.Details != nil {
		if err := json.Unmarshal(out.Result.Details, &d); err != nil {
			t.Errorf("details %s: %v", out.Result.Details, err)
		}
	}
	return out.Result, d
}

func (c *console) bash(t *testing.T, command string) (*tool.Result, bashDetails) {
	t.Helper()
	return c.call(t.Context(), t, "Bash", map[string]any{"command": command})
}

func TestBash(t *testing.T) {
	c := newConsole(t)
	root, err := c.ws.Resolve("", ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		command, want string
		code          int
		dir           string
	}{
		{"echo out; echo err >&2; echo more", "out\nerr\nmore\n", 0, root},
		{"true", "(no output)", 0, root},
		{"cd /; X=1", "(no output)", 0, "/"},
		{"pwd; echo $X", "/\n1\n", 0, "/"},
		{"printf 'no newline'; exit 3", "no newline\nExit code: 3", 3, "/"},
		{"false", "Exit code: 1", 1, "/"},
		{"printf 'a\\377b\\0c\\033[31mred\\033[0m\\n'", "a�bcred\n", 0, "/"},
		{"sleep 1000 & echo on", "on\nProcesses that the command left running were ended: 1. Use run_in_background for what is to go on.", 0, "/"},
	} {
		r, d := c.bash(t, x.command)
		if r.Text() != x.want || r.IsError != (x.code != 0) || d.ExitCode == nil || *d.ExitCode != x.code || d.Cwd != x.dir || r.Truncated {
			t.Errorf("%s: %q, error %v, details %s; want %q, %d", x.command, r.Text(), r.IsError, r.Details, x.want, x.code)
		}
	}
	if string(c.state) != `{"dir":"/"}` {
		t.Errorf("state %s", c.state)
	}
}

func TestBashRefuses(t *testing.T) {
	c := newConsole(t)
	for _, in := range []map[string]any{
		{"command": " \n"}, {"command": "true", "timeout": -1}, {"command": "true\x00"},
	} {
		if r, _ := c.call(t.Context(), t, "Bash", in); !r.IsError {
			t.Errorf("%v: %s", in, r.Text())
		}
	}
}

// The sandbox is the host's: no input of a call may have a say in it.
func TestBashHasNoOtherInputs(t *testing.T) {
	var schema struct {
		Properties map[string]any
		Required   []string
	}
	spec := Bash(&workspace.Workspace{}).Spec()
	if err := json.Unmarshal(spec.Input, &schema); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"command", "timeout", "description", "run_in_background"} {
		if schema.Properties[name] == nil {
			t.Errorf("no input %s", name)
		}
		delete(schema.Properties, name)
	}
	if len(schema.Properties) > 0 || fmt.Sprint(schema.Required) != "[command]" {
		t.Errorf("more inputs: %v, required %v", schema.Properties, schema.Required)
	}
	if spec.State != "shell" || spec.ReadOnly {
		t.Errorf("spec %+v", spec)
	}
}

func TestBashClassifies(t *testing.T) {
	dir := t.TempDir()
	class := toolrun.Classify(Bash(&workspace.Workspace{}), tool.Call{Dir: dir, Input: json.RawMessage(`{"command":"git push"}`)})
	want := permission.Access{Kind: permission.RunCommand, Target: "git push", Dir: dir}
	if len(class.Access) != 1 || class.Access[0] != want || class.ReadOnly || class.Touches != nil {
		t.Errorf("%+v", class)
	}
	if !toolrun.Classify(BashOutput(&workspace.Workspace{}), tool.Call{Input: json.RawMessage(`{"bash_id":"bash_1"}`)}).ReadOnly {
		t.Error("BashOutput changes something")
	}
}

// A line is judged where it will run: where the lines before it left the shell.
func TestBashIsJudgedWhereItRuns(t *testing.T) {
	c := newConsole(t)
	bash, root := c.tools["Bash"], c.ws.Root
	if err := os.Mkdir(filepath.Join(root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(root, "sub", "away")); err != nil {
		t.Fatal(err)
	}
	judge := func() permission.Decision {
		call := tool.Call{Session: "s", Dir: root, State: c.state, Input: json.RawMessage(`{"command":"cat away/passwd"}`)}
		return permission.Policy{}.Decide(permission.Request{Tool: "Bash", Dir: root, Access: toolrun.Classify(bash, call).Access})
	}
	if d := judge(); d.Behavior != permission.Allowed {
		t.Errorf("in the working directory: %+v", d)
	}
	c.dir = root
	c.bash(t, "cd sub")
	if d := judge(); d.Behavior != permission.Asked {
		t.Errorf("in sub: %+v", d)
	}
	if _, d := c.bash(t, "true"); d.Cwd != filepath.Join(root, "sub") {
		t.Errorf("the line ran in %s", d.Cwd)
	}
	if err := os.RemoveAll(filepath.Join(root, "sub")); err != nil {
		t.Fatal(err)
	}
	if d := judge(); d.Behavior != permission.Allowed {
		t.Errorf("back in the working directory: %+v", d)
	}
	if !bash.Spec().Barrier {
		t.Error("a later line of the same answer is judged before this one has changed the directory")
	}
}

func TestBashTimeout(t *testing.T) {
	c := newConsole(t)
	c.fault = toolrun.TimedOut
	r, d := c.call(t.Context(), t, "Bash", map[string]any{"command": "echo begun; sleep 1000 & sleep 1000", "timeout": 300})
	c.fault = toolrun.NoFault
	if !r.IsError || d.ExitCode != nil || !strings.HasPrefix(r.Text(), "begun\nCommand timed out after 300 ms") {
		t.Errorf("%q, %s", r.Text(), r.Details)
	}
	if r, _ := c.bash(t, "echo next"); r.Text() != "next\n" {
		t.Errorf("afterwards: %q", r.Text())
	}
	if r, _ := c.call(t.Context(), t, "Bash", map[string]any{"command": "echo cut", "timeout": 99999999}); r.IsError || r.Text() != "cut\nThe timeout was cut to 600000 ms, the longest that there is." {
		t.Errorf("with too long a timeout: %q", r.Text())
	}
	if r, _ := c.call(t.Context(), t, "Bash", map[string]any{"command": "echo whole", "timeout": maxTimeout}); r.Text() != "whole\n" {
		t.Errorf("with the longest timeout: %q", r.Text())
	}
}

func TestBashInterrupted(t *testing.T) {
	c := newConsole(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var reports atomic.Int32
	ctx = tool.WithProgress(ctx, func(s tool.Status) {
		if reports.Add(1) == 1 && s.Text != "begun" {
			t.Errorf("progress %q", s.Text)
		}
		cancel()
	})
	r, d := c.call(ctx, t, "Bash", map[string]any{"command": "echo begun; sleep 1000"})
	if !r.IsError || d.ExitCode != nil || r.Text() != "begun\nThe command was interrupted and ended." {
		t.Errorf("%q, %s", r.Text(), r.Details)
	}
}

func TestBashProgressIsThrottled(t *testing.T) {
	c := newConsole(t)
	var reports atomic.Int32
	ctx := tool.WithProgress(t.Context(), func(tool.Status) { reports.Add(1) })
	start := time.Now()
	c.call(ctx, t, "Bash", map[string]any{"command": "for i in $(seq 2000); do echo $i; done"})
	if most := int32(time.Since(start)/progressPause) + 2; reports.Load() < 1 || reports.Load() > most {
		t.Errorf("%d reports, want 1 to %d, the last with the rest", reports.Load(), most)
	}
}

// The end of the output is reported even if nothing follows, five lines at most.
func TestBashProgressHasTail(t *testing.T) {
	c := newConsole(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ctx = tool.WithProgress(ctx, func(s tool.Status) {
		if s.Text == "9" {
			if want := []string{"5", "6", "7", "8", "9"}; !slices.Equal(s.Tail, want) {
				t.Errorf("tail %q, want %q", s.Tail, want)
			}
			cancel()
		}
	})
	c.call(ctx, t, "Bash", map[string]any{"command": "for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.001; done; sleep 1000"})
}

// Reports have the output part by part, in whole lines, and the last one has the rest.
func TestBashReportsOutput(t *testing.T) {
	c := newConsole(t)
	var all strings.Builder
	var mu sync.Mutex
	to := int64(0)
	ctx := tool.WithProgress(t.Context(), func(s tool.Status) {
		mu.Lock()
		defer mu.Unlock()
		var part toolapi.Output
		if raw := s.Metadata[toolapi.OutputMember]; raw == nil {
			return
		} else if err := json.Unmarshal(raw, &part); err != nil || part.From != to || part.To <= part.From {
			t.Errorf("after %d: %s, %v", to, raw, err)
		}
		if to = part.To; strings.Contains(part.Text, "\x1b") {
			t.Errorf("%q", part.Text)
		}
		all.WriteString(part.Text)
	})
	c.call(ctx, t, "Bash", map[string]any{"command": `printf 'one\n\033[31mtwo\033[0m\n'; sleep 0.3; printf 'three\nfour'`})
	if all.String() != "one\ntwo\nthree\nfour" {
		t.Errorf("%q", all.String())
	}
	to = 0
	lost := false
	ctx = tool.WithProgress(t.Context(), func(s tool.Status) {
		var part toolapi.Output
		if json.Unmarshal(s.Metadata[toolapi.OutputMember], &part) == nil && part.To > to {
			lost = lost || part.From > to
			to = part.To
		}
	})
	c.call(ctx, t, "Bash", map[string]any{"command": "seq 100000"})
	if !lost || to != 588895 {
		t.Errorf("lost %v, to %d", lost, to)
	}
}

func TestBashLongOutput(t *testing.T) {
	c := newConsole(t)
	r, d := c.bash(t, "seq 100000; exit 2")
	all, err := os.ReadFile(d.OutputPath)
	if err != nil || len(all) != 588895 || !d.Truncated || !r.Truncated || !r.IsError {
		t.Fatalf("%d bytes, details %s, %v", len(all), r.Details, err)
	}
	text := r.Text()
	head, tail := string(all[:15_000]), string(all[len(all)-15_000:])
	if !strings.HasPrefix(text, head+"\n\n[… 558895 characters are missing here; the whole output is in "+d.OutputPath+" …]\n\n") ||
		!strings.HasSuffix(text, tail+"Exit code: 2") {
		t.Errorf("%q … %q", text[14_990:15_200], text[len(text)-20:])
	}
}

func TestBackground(t *testing.T) {
	c := newConsole(t)
	r, d := c.call(t.Context(), t, "Bash", map[string]any{"command": "echo a; echo b; echo c; exit 4", "run_in_background": true})
	if d.ShellID != "bash_1" || !d.Background || !strings.Contains(r.Text(), "bash_1") || string(c.state) != `{"dir":"","jobs":1}` {
		t.Fatalf("%s, details %s, state %s", r.Text(), r.Details, c.state)
	}
	r, d = c.call(t.Context(), t, "BashOutput", map[string]any{"bash_id": "bash_1", "filter": "^[ac]$", "wait_ms": 600_000})
	if want := "a\nc\nStatus: exited\nExit code: 4\nOutput file: " + d.OutputPath; r.Text() != want || r.IsError {
		t.Errorf("%q, want %q", r.Text(), want)
	}
	if all, err := os.ReadFile(d.OutputPath); err != nil || string(all) != "a\nb\nc\n" || filepath.Dir(d.OutputPath) != c.ws.OutputDir {
		t.Errorf("%s: %q, %v", d.OutputPath, all, err)
	}

	c.call(t.Context(), t, "Bash", map[string]any{"command": "sleep 1000 & setsid sleep 1000", "run_in_background": true})
	r, d = c.call(t.Context(), t, "BashOutput", map[string]any{"bash_id": "bash_2"})
	if d.Status != "running" || d.ExitCode != nil || !strings.HasPrefix(r.Text(), "(no new output)\nStatus: running") {
		t.Errorf("%q, %s", r.Text(), r.Details)
	}
	if _, d = c.call(t.Context(), t, "KillShell", map[string]any{"shell_id": "bash_2"}); d.Status != "stopped" {
		t.Errorf("details %+v", d)
	}
	for name, in := range map[string]map[string]any{
		"BashOutput": {"bash_id": "bash_9"}, "KillShell": {"shell_id": "../x"},
	} {
		if r, _ := c.call(t.Context(), t, name, in); !r.IsError || !strings.Contains(r.Text(), "there are bash_1, bash_2") {
			t.Errorf("%s: %q", name, r.Text())
		}
	}
	if r, _ := c.call(t.Context(), t, "BashOutput", map[string]any{"bash_id": "bash_1", "filter": "("}); !r.IsError {
		t.Errorf("a broken filter: %q", r.Text())
	}
	if n := c.notices(t); n != nil {
		t.Errorf("notices of what was reported: %q", n)
	}
}

func (c *console) notices(t *testing.T) []string {
	t.Helper()
	n, ok := c.tools["Bash"].(interface{ Notices(string) []string })
	if !ok {
		t.Fatal("Bash has no notices")
	}
	return n.Notices("s")
}

func TestNotices(t *testing.T) {
	c := newConsole(t)
	fifo := filepath.Join(c.ws.Root, "gate")
	c.bash(t, "mkfifo gate")
	c.call(t.Context(), t, "Bash", map[string]any{"command": "cat gate; exit 7", "run_in_background": true})
	if n := c.notices(t); n != nil {
		t.Errorf("too early: %q", n)
	}
	if err := os.WriteFile(fifo, nil, 0); err != nil {
		t.Fatal(err)
	}
	var got []string
	for len(got) == 0 {
		time.Sleep(time.Millisecond)
		got = c.notices(t)
	}
	if want := "Background command bash_1 (cat gate; exit 7) exited with exit code 7. BashOutput shows its output."; got[0] != want || len(got) > 1 {
		t.Errorf("%q, want %q", got, want)
	}
	if n := c.notices(t); n != nil {
		t.Errorf("twice: %q", n)
	}
}
