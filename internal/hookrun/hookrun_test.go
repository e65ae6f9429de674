package hookrun_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/hookctx"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

func compile(t testing.TB, hooks ...hook.Hook) *hookrun.Set {
	t.Helper()
	s, err := hookrun.Compile(hooks)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func returning(out hook.Output, err error) func(context.Context, *hook.Input) (hook.Output, error) {
	return func(context.Context, *hook.Input) (hook.Output, error) { return out, err }
}

func TestCompile(t *testing.T) {
	fine := returning(hook.Output{}, nil)
	for _, c := range []struct {
		hook hook.Hook
		want string
	}{
		{hook.Hook{On: "PreTooluse", Func: fine}, `there is no hook event "PreTooluse"`},
		{hook.Hook{On: hook.Stop}, "no Func"},
		{hook.Hook{On: hook.Stop, Func: fine, Match: "("}, "Match: error parsing regexp"},
		{hook.Hook{On: hook.Stop, Func: fine, Match: ")("}, "Match: error parsing regexp"},
		{hook.Hook{On: hook.Stop, Func: fine, Timeout: -1}, "negative Timeout"},
	} {
		if _, err := hookrun.Compile([]hook.Hook{c.hook}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.hook, err, c.want)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		match, name string
		want        bool
	}{
		{"", "Bash", true}, {"*", "Bash", true}, {"Bash", "Bash", true}, {"Bash", "BashOutput", false}, {"Edit|Write", "Write", true},
		{"Edit|Write", "MultiEdit", false}, {"mcp__.*", "mcp__a__b", true}, {"bash", "Bash", false},
		{"^Notebook", "NotebookEdit", true}, {"^mcp__.*__write", "mcp__a__write_file", true}, {"Edit$", "MultiEdit", true}, {"^(Edit|Write)$", "MultiEdit", false},
		{"mcp__my-server__.*", "mcp__my-server__x", true}, {"mcp__a-b__x", "mcp__a-b__x", true}, {"mcp__a-b__x", "mcp__a-b__xy", false},
		{"Edit|Write", "Edit|Write", false}, {"Edit|", "Bash", false},
	} {
		s := compile(t, hook.Hook{On: hook.PreToolUse, Match: c.match, Func: returning(hook.Output{}, nil)})
		if got := s.Has(hook.PreToolUse, c.name); got != c.want {
			t.Errorf("%q matches %q: %v", c.match, c.name, got)
		}
	}
	called := false
	s := compile(t, hook.Hook{On: "FileChanged", Match: `\.env`, Func: func(context.Context, *hook.Input) (hook.Output, error) { called = true; return hook.Output{}, nil }})
	s.Run(t.Context(), hook.Input{Event: "FileChanged", Fields: map[string]string{"file_path": "/a/b/.env"}}, nil)
	if !called {
		t.Error("the name of a file is not matched")
	}
}

// A hook that fails in any way blocks the action that a guarding event guards, and changes
// nothing elsewhere; the hooks after it are still called.
func TestFailures(t *testing.T) {
	wrong := map[string]func(context.Context, *hook.Input) (hook.Output, error){
		"error":  returning(hook.Output{}, errors.New("broken")),
		"panic":  func(context.Context, *hook.Input) (hook.Output, error) { panic("broken") },
		"goexit": func(context.Context, *hook.Input) (hook.Output, error) { runtime.Goexit(); return hook.Output{}, nil },
		"hangs": func(ctx context.Context, _ *hook.Input) (hook.Output, error) {
			<-ctx.Done()
			return hook.Output{}, ctx.Err()
		},
		"deaf": func(context.Context, *hook.Input) (hook.Output, error) {
			time.Sleep(time.Hour)
			return hook.Output{}, nil
		},
		"odd":     returning(hook.Output{Permission: "perhaps"}, nil),
		"no JSON": returning(hook.Output{Input: json.RawMessage("{")}, nil),
		"list":    returning(hook.Output{Input: json.RawMessage("[1]")}, nil),
		"huge":    returning(hook.Output{Context: strings.Repeat("x", 2<<20)}, nil),
		"update":  returning(hook.Output{Updates: []hook.Update{{Type: "grantAll"}}}, nil),
	}
	for name, fn := range wrong {
		for _, e := range hook.Events {
			synctest.Test(t, func(t *testing.T) {
				after := 0
				s := compile(t, hook.Hook{On: e, Func: fn, Timeout: time.Minute}, hook.Hook{On: e, Func: func(context.Context, *hook.Input) (hook.Output, error) {
					after++
					return hook.Output{Context: "fine"}, nil
				}})
				out := s.Run(t.Context(), hook.Input{Event: e, Tool: "Bash"}, nil)
				if out.Block != hookrun.Guards(e) || len(out.Errors) != 1 || after != 1 || out.Context != "fine" {
					t.Errorf("%s at %s: %+v, called after it: %d", name, e, out, after)
				}
				if e == hook.PreToolUse && out.Permission != permission.Denied {
					t.Errorf("%s: the call is not denied: %+v", name, out)
				}
				time.Sleep(2 * time.Hour) // the deaf one ends
			})
		}
	}
}

// The end of ctx ends the hooks soon.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := compile(t, hook.Hook{On: hook.PreToolUse, Func: func(context.Context, *hook.Input) (hook.Output, error) {
			time.Sleep(time.Hour)
			return hook.Output{}, nil
		}},
			hook.Hook{On: hook.PreToolUse, Func: returning(hook.Output{Permission: permission.Allowed}, nil)})
		time.AfterFunc(time.Second, func() { cancel(errors.New("enough")) })
		began := time.Now()
		out := s.Run(ctx, hook.Input{Event: hook.PreToolUse}, nil)
		if !out.Block || len(out.Errors) != 2 || time.Since(began) != time.Second || !strings.Contains(out.Reason, "enough") {
			t.Errorf("%+v after %v", out, time.Since(began))
		}
		time.Sleep(2 * time.Hour)
	})
}

func TestTogether(t *testing.T) {
	for _, c := range []struct {
		name string
		outs []hook.Output
		want hook.Output
	}{
		{"deny is final", []hook.Output{{Permission: permission.Denied, Reason: "no"}, {Permission: permission.Allowed, Reason: "yes"}}, hook.Output{Block: true, Permission: permission.Denied, Reason: "no"}},
		{"deny after allow", []hook.Output{{Permission: permission.Allowed, Reason: "yes"}, {Permission: permission.Denied, Reason: "no"}}, hook.Output{Block: true, Permission: permission.Denied, Reason: "no"}},
		{"block denies", []hook.Output{{Block: true, Reason: "no"}}, hook.Output{Block: true, Permission: permission.Denied, Reason: "no"}},
		{"two reasons", []hook.Output{{Block: true, Reason: "a"}, {Block: true, Reason: "b"}}, hook.Output{Block: true, Permission: permission.Denied, Reason: "a\nb"}},
		{"ask beats allow", []hook.Output{{Permission: permission.Asked, Reason: "hm"}, {Permission: permission.Allowed}}, hook.Output{Permission: permission.Asked, Reason: "hm"}},
		{"context adds up", []hook.Output{{Context: "a"}, {}, {Context: "b"}}, hook.Output{Context: "a\nb"}},
		{"stop", []hook.Output{{Stop: true, StopReason: "enough"}, {}}, hook.Output{Stop: true, StopReason: "enough"}},
	} {
		var hooks []hook.Hook
		for _, out := range c.outs {
			hooks = append(hooks, hook.Hook{On: hook.PreToolUse, Func: returning(out, nil)})
		}
		if got := compile(t, hooks...).Run(t.Context(), hook.Input{Event: hook.PreToolUse}, nil); fmt.Sprintf("%+v", got.Output) != fmt.Sprintf("%+v", c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got.Output, c.want)
		}
	}
}

// Each hook sees the changes of those before it.
func TestOneAfterTheOther(t *testing.T) {
	var saw []string
	see := func(out hook.Output) hook.Hook {
		return hook.Hook{On: hook.PostToolUse, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
			saw = append(saw, string(in.Input)+" "+in.Result.Text())
			return out, nil
		}}
	}
	s := compile(t, see(hook.Output{Input: json.RawMessage(`{"a":2}`), Result: tool.Text("two")}), see(hook.Output{}))
	s.Run(t.Context(), hook.Input{Event: hook.PostToolUse, Input: json.RawMessage(`{"a":1}`), Result: tool.Text("one")}, nil)
	if want := []string{`{"a":1} one`, `{"a":2} two`}; !slices.Equal(saw, want) {
		t.Errorf("saw %q", saw)
	}
}

func TestDepth(t *testing.T) {
	var depths []int
	var s *hookrun.Set
	s = compile(t, hook.Hook{On: hook.Stop, Func: func(ctx context.Context, in *hook.Input) (hook.Output, error) {
		depths = append(depths, hookctx.Depth(ctx))
		if len(depths) < 3 {
			s.Run(ctx, *in, nil)
		}
		return hook.Output{}, nil
	}})
	s.Run(hookctx.WithDepth(t.Context(), 1), hook.Input{Event: hook.Stop}, nil)
	if !slices.Equal(depths, []int{2, 3, 4}) {
		t.Errorf("depths %v", depths)
	}
}

func TestParse(t *testing.T) {
	yes, no := permission.Allowed, permission.Denied
	for _, c := range []struct {
		event hook.Event
		out   string
		want  hook.Output
		err   string
	}{
		{hook.PreToolUse, "", hook.Output{}, ""},
		{hook.PreToolUse, " \n", hook.Output{}, ""},
		{hook.PreToolUse, "hello\n", hook.Output{Message: "hello"}, ""},
		{hook.SessionStart, "hello", hook.Output{Context: "hello"}, ""},
		{hook.UserPromptSubmit, "hello", hook.Output{Context: "hello"}, ""},
		{hook.PreCompact, "hello", hook.Output{Context: "hello"}, ""},
		{hook.PreCompact, `{"additionalContext":"hello"}`, hook.Output{Context: "hello"}, ""},
		{hook.PostCompact, "hello", hook.Output{Message: "hello"}, ""},
		{hook.PreToolUse, `{}`, hook.Output{}, ""},
		{hook.PreToolUse, `{"continue":true}`, hook.Output{}, ""},
		{hook.Stop, `{"continue":false,"stopReason":"enough"}`, hook.Output{Stop: true, StopReason: "enough"}, ""},
		{hook.Stop, `{"decision":"block","reason":"go on"}`, hook.Output{Block: true, Reason: "go on"}, ""},
		{hook.PreToolUse, `{"decision":"approve"}`, hook.Output{Permission: yes}, ""},
		{hook.PreToolUse, `{"systemMessage":"m","suppressOutput":true}`, hook.Output{Message: "m", Quiet: true}, ""},
		{hook.PreToolUse, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"r"}}`, hook.Output{Permission: no, Reason: "r"}, ""},
		{hook.PreToolUse, `{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"a":1},"additionalContext":"c"}}`, hook.Output{Permission: yes, Input: json.RawMessage(`{"a":1}`), Context: "c"}, ""},
		{hook.PreToolUse, `{"hookSpecificOutput":{"permissionDecision":"defer"}}`, hook.Output{Permission: permission.Deferred}, ""},
		{hook.PostToolUse, `{"hookSpecificOutput":{"updatedToolOutput":"new"}}`, hook.Output{Result: tool.Text("new")}, ""},
		{hook.PostToolUse, `{"hookSpecificOutput":{"updatedToolOutput":{"content":[{"type":"text","text":"new"}],"is_error":true}}}`, hook.Output{Result: tool.Errorf("new")}, ""},
		{hook.PostToolUse, `{"hookSpecificOutput":{"updatedToolOutput":{"a":1}}}`, hook.Output{Result: tool.Text(`{"a":1}`)}, ""},
		{hook.PostToolUse, `{"updatedMCPToolOutput":"new"}`, hook.Output{Result: tool.Text("new")}, ""},
		{hook.PermissionRequest, `{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"m","interrupt":true}}}`, hook.Output{Permission: no, Reason: "m", Interrupt: true}, ""},
		{hook.PermissionRequest, `{"hookSpecificOutput":{"decision":{"behavior":"allow","updatedInput":{"b":2},"updatedPermissions":[{"type":"addRules","behavior":"allow","rules":[{"toolName":"Bash","ruleContent":"ls *"}],"destination":"session"},{"type":"setMode","mode":"acceptEdits"}]}}}`,
			hook.Output{Permission: yes, Input: json.RawMessage(`{"b":2}`), Updates: []hook.Update{{Type: "addRules", Behavior: yes, Rules: []permission.Rule{"Bash(ls *)"}}, {Type: "setMode", Mode: permission.AcceptEdits}}}, ""},
		{hook.PostToolUse, `{"updatedToolOutput":"new"}`, hook.Output{Result: tool.Text("new")}, ""},
		{hook.PreToolUse, `{"permissionDecision":"deny","permissionDecisionReason":"r"}`, hook.Output{Permission: no, Reason: "r"}, ""},
		{hook.PermissionDenied, `{"retry":true}`, hook.Output{Retry: true}, ""},
		{hook.SessionStart, `{"sessionTitle":"t","initialUserMessage":"i"}`, hook.Output{Title: "t", Context: "i"}, ""},
		{hook.PermissionDenied, `{"hookSpecificOutput":{"retry":true}}`, hook.Output{Retry: true}, ""},
		{hook.SessionStart, `{"hookSpecificOutput":{"sessionTitle":"t","initialUserMessage":"i"}}`, hook.Output{Title: "t", Context: "i"}, ""},
		// the shorter form
		{hook.PreToolUse, `{"block":true,"message":"no"}`, hook.Output{Block: true, Reason: "no", Message: "no"}, ""},
		{hook.PreToolUse, `{"permissionDecision":"ask","updatedInput":{"a":1},"additionalContext":"c","reason":"r"}`, hook.Output{Permission: permission.Asked, Input: json.RawMessage(`{"a":1}`), Context: "c", Reason: "r"}, ""},
		{hook.PreToolUse, `{"permissionUpdate":{"tool":"Bash","behavior":"deny"}}`, hook.Output{Updates: []hook.Update{{Type: "addRules", Behavior: no, Rules: []permission.Rule{"Bash"}}}}, ""},
		{hook.PreToolUse, `{"notification":{"title":"t","body":"b","level":"warning"}}`, hook.Output{Notification: &hook.Notice{Title: "t", Body: "b", Level: "warning"}}, ""},
		{hook.PreToolUse, `{"async":true}`, hook.Output{Async: true}, ""},
		// malformed
		{hook.PreToolUse, `{"decision":`, hook.Output{}, "reading its JSON"},
		{hook.PreToolUse, `{"decision":"maybe"}`, hook.Output{}, "approve or block"},
		{hook.PreToolUse, `{"continue":"no"}`, hook.Output{}, "reading its JSON"},
		{hook.PreToolUse, `{"hookSpecificOutput":{"permissionDecision":"yes"}}`, hook.Output{}, "allow, deny, ask or defer"},
		{hook.PreToolUse, `{"hookSpecificOutput":{"hookEventName":"PostToolUse"}}`, hook.Output{}, `for "PostToolUse", not for PreToolUse`},
		{hook.PreToolUse, `{"hookSpecificOutput":{"updatedInput":"ls"}}`, hook.Output{}, "not a JSON object"},
		{hook.PreToolUse, `{"permissionUpdate":{"tool":"Bash","behavior":"maybe"}}`, hook.Output{}, "allow, ask or deny"},
		{hook.PreToolUse, `{"permissionUpdate":{"tool":"Ba(sh","behavior":"deny"}}`, hook.Output{}, "addRules"},
	} {
		got, err := hookrun.Parse(c.event, []byte(c.out))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", c.out, err, c.err)
			}
			continue
		}
		for i, u := range got.Updates { // see TestUpdateJSON for the destination
			got.Updates[i] = hook.Update{Type: u.Type, Behavior: u.Behavior, Rules: u.Rules, Mode: u.Mode}
		}
		if g, w := deep(got), deep(c.want); err != nil || g != w {
			t.Errorf("%s: %v\n%s, want\n%s", c.out, err, g, w)
		}
	}
}

// deep shows an output with the values that it points to.
func deep(o hook.Output) string {
	text := ""
	if r := o.Result; r != nil {
		text += fmt.Sprintf(" result=%v %q", r.IsError, r.Text())
	}
	if n := o.Notification; n != nil {
		text += fmt.Sprintf(" notice=%+v", *n)
	}
	o.Result, o.Notification = nil, nil
	return fmt.Sprintf("%+v%s input=%s", o, text, o.Input)
}

// The JSON is what Claude Code's hooks read.
func TestInputJSON(t *testing.T) {
	data, err := json.Marshal(hook.Input{Event: hook.PermissionRequest, Session: "s", Transcript: "/t.jsonl", Dir: "/d", Mode: permission.Default, Tool: "Bash",
		Input: json.RawMessage(`{"command":"ls"}`), Call: "c1.0", Suggestions: []permission.Rule{"Bash(ls *)", "Read"}})
	const want = `{"hook_event_name":"PermissionRequest","session_id":"s","transcript_path":"/t.jsonl","cwd":"/d","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"c1.0",` +
		`"permission_suggestions":[{"type":"addRules","behavior":"allow","destination":"session","rules":[{"toolName":"Bash","ruleContent":"ls *"},{"toolName":"Read"}]}]}`
	if err != nil || string(data) != want {
		t.Errorf("%s, %v", data, err)
	}
}

// Fields are members of the JSON, but none that no event has, and none that another field
// holds.
func TestInputFields(t *testing.T) {
	data, err := json.Marshal(hook.Input{Event: "FileChanged", Session: "s", Fields: map[string]string{"file_path": "/a", "event": "change", "session_id": "t", "other": "x", "name": ""}})
	const want = `{"hook_event_name":"FileChanged","session_id":"s","transcript_path":"","cwd":"","event":"change","file_path":"/a"}`
	if err != nil || string(data) != want {
		t.Errorf("%s, %v", data, err)
	}
}

// An update is written as it was read, with a destination that has no effect.
func TestUpdateJSON(t *testing.T) {
	const text = `{"type":"addRules","behavior":"allow","destination":"userSettings","rules":[{"toolName":"Bash","ruleContent":"ls *"}]}`
	var u hook.Update
	if err := json.Unmarshal([]byte(text), &u); err != nil {
		t.Fatal(err)
	}
	if data, err := json.Marshal(u); err != nil || string(data) != text {
		t.Errorf("%s, %v", data, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"hookSpecificOutput":{"decision":{"behavior":"allow","updatedPermissions":[{"type":"setMode","mode":"plan"}]},"updatedToolOutput":{"content":[{"type":"text","text":"x"}]}}}`)
	f.Add("text")
	f.Fuzz(func(t *testing.T, text string) {
		for _, e := range hook.Events {
			out, err := hookrun.Parse(e, []byte(text))
			if err == nil && out.Input != nil && !json.Valid(out.Input) {
				t.Errorf("%q: the input is no JSON", text)
			}
		}
	})
}

func BenchmarkFunction(b *testing.B) {
	s := compile(b, hook.Hook{On: hook.PreToolUse, Match: "Edit|Write", Func: returning(hook.Output{}, nil)})
	in := hook.Input{Event: hook.PreToolUse, Tool: "Edit"}
	b.ReportAllocs()
	for b.Loop() {
		s.Run(context.Background(), in, nil)
	}
}

func BenchmarkNoHook(b *testing.B) {
	var s *hookrun.Set
	b.ReportAllocs()
	for b.Loop() {
		if s.Has(hook.PreToolUse, "Edit") {
			b.Fatal("there is one")
		}
	}
}
