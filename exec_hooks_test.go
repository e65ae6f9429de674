package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/hook/shell"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/hookctx"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/internal/toolhost"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// A moment is how an event comes about, and what its hooks are told.
type moment struct {
	event hook.Event
	match string
	want  string // members of the input; "*" is any text
	run   func(t *testing.T, w *stage)
}

// A stage is what a moment is played on.
type stage struct {
	dir   string
	ws    *workspace.Workspace
	agent *agent.Agent
}

// play prompts the agent once, with the model's answers.
func (w *stage) play(t *testing.T, steps ...llmtest.Step) {
	w.agent.Model = llmtest.Script(steps...)
	if _, err := w.agent.Prompt(t.Context(), "go"); err != nil && !errors.Is(err, agent.ErrStopped) {
		var end *agent.EndError
		if !errors.As(err, &end) {
			t.Fatal(err)
		}
	}
}

func (w *stage) tool(t *testing.T, tl tool.Tool, input any) {
	w.agent.Tools = append(w.agent.Tools, tl)
	w.agent.Permissions = bypass
	w.play(t, llmtest.Call(llmtest.Use("", tl.Spec().Name, input)), say("end"))
}

func failing() tool.Tool {
	return tool.Func(tool.Spec{Name: "fails"}, func(context.Context, number) (string, error) { return "", errors.New("no luck") })
}

// settings is a store of one setting, for the tool Config.
type oneSetting struct{ value json.RawMessage }

func (s *oneSetting) Known() []toolapi.Setting {
	return []toolapi.Setting{{Key: "model", Type: "string"}}
}
func (s *oneSetting) Get(string) (toolapi.SettingValue, error) {
	return toolapi.SettingValue{Value: s.value, Source: "user"}, nil
}
func (s *oneSetting) Set(_ string, v json.RawMessage) error { s.value = v; return nil }

var moments = []moment{
	{hook.PreToolUse, "double", `{"tool_name":"double","tool_input":{"n":2},"tool_use_id":"*","permission_mode":"bypassPermissions"}`, func(t *testing.T, w *stage) { w.tool(t, double, number{2}) }},
	{hook.PostToolUse, "double", `{"tool_name":"double","tool_input":{"n":2},"tool_response":{"content":[{"type":"text","text":"4"}]}}`, func(t *testing.T, w *stage) { w.tool(t, double, number{2}) }},
	{hook.PostToolUseFailure, "fails", `{"tool_name":"fails","error":"fails: no luck"}`, func(t *testing.T, w *stage) { w.tool(t, failing(), number{2}) }},
	{hook.PostToolBatch, "", `{"tool_calls":[{"tool_name":"double","tool_input":{"n":2},"tool_use_id":"*","tool_response":"4"}]}`, func(t *testing.T, w *stage) { w.tool(t, double, number{2}) }},
	{hook.PermissionRequest, "Bash", `{"tool_name":"Bash","tool_input":{"command":"make x"},"permission_suggestions":[{"type":"addRules","behavior":"allow","destination":"session","rules":[{"toolName":"Bash","ruleContent":"make x *"}]}]}`, func(t *testing.T, w *stage) {
		w.agent.Tools = []tool.Tool{tools.Bash(w.ws)}
		w.play(t, llmtest.Call(llmtest.Use("", "Bash", map[string]string{"command": "make x"})), say("end"))
	}},
	{hook.PermissionDenied, "Bash", `{"tool_name":"Bash","tool_input":{"command":"make x"},"reason":"*"}`, func(t *testing.T, w *stage) {
		w.agent.Tools = []tool.Tool{tools.Bash(w.ws)}
		w.play(t, llmtest.Call(llmtest.Use("", "Bash", map[string]string{"command": "make x"})), say("end"))
	}},
	{hook.Setup, "init", `{"trigger":"init"}`, func(t *testing.T, w *stage) { w.play(t, say("end")) }},
	{hook.SessionStart, "startup", `{"source":"startup","model":"*"}`, func(t *testing.T, w *stage) { w.play(t, say("end")) }},
	{hook.SessionStart, "resume", `{"source":"resume"}`, func(t *testing.T, w *stage) {
		again(t, w, func(s *agent.Session) *agent.Session { return w.agent.Session("s") })
	}},
	{hook.SessionStart, "fork", `{"source":"fork"}`, func(t *testing.T, w *stage) {
		again(t, w, func(s *agent.Session) *agent.Session {
			f, err := s.Fork(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			return f
		})
	}},
	{hook.SessionEnd, "other", `{"reason":"other"}`, func(t *testing.T, w *stage) { w.play(t, say("end")) }},
	{hook.UserPromptSubmit, "", `{"prompt":"go","source":"prompt"}`, func(t *testing.T, w *stage) { w.play(t, say("end")) }},
	{hook.UserPromptSubmit, "", `{"prompt":"faster","source":"steer"}`, func(t *testing.T, w *stage) { duringRun(t, w, (*agent.Session).Steer) }},
	{hook.UserPromptSubmit, "", `{"prompt":"faster","source":"follow_up"}`, func(t *testing.T, w *stage) { duringRun(t, w, (*agent.Session).FollowUp) }},
	{hook.Stop, "", `{"reason":"completed","last_assistant_message":"end","stop_hook_active":false}`, func(t *testing.T, w *stage) { w.play(t, say("end")) }},
	{hook.Stop, "max_turns", `{"reason":"max_turns"}`, func(t *testing.T, w *stage) {
		w.agent.Budget.Turns = 1
		w.tool(t, double, number{2})
	}},
	{hook.Stop, "interrupted", `{"reason":"interrupted"}`, func(t *testing.T, w *stage) {
		s := w.agent.Session("")
		defer s.Close()
		w.agent.Model = nil
		stop := tool.Func(tool.Spec{Name: "stop"}, func(ctx context.Context, _ number) (string, error) {
			_, err := s.Interrupt(ctx)
			return "", err
		})
		a := *w.agent
		a.Tools, a.Permissions, a.Model = []tool.Tool{stop}, bypass, llmtest.Script(uses("stop"))
		s = a.Session("")
		defer s.Close()
		s.Prompt(t.Context(), "go")
	}},
	{hook.StopFailure, "invalid_request", `{"error":"invalid_request","error_details":"*","reason":"model_error"}`, func(t *testing.T, w *stage) {
		w.play(t, llmtest.Fail(&llm.APIError{Class: llm.Invalid, Message: "bad"}))
	}},
	{hook.Notification, "permission_prompt", `{"notification_type":"permission_prompt","message":"*"}`, func(t *testing.T, w *stage) {
		w.agent.Tools = []tool.Tool{tools.Bash(w.ws)}
		w.agent.CanUseTool = func(_ context.Context, _ tool.Call, d permission.Decision) (permission.Decision, error) {
			return permission.Decision{}, nil
		}
		w.play(t, llmtest.Call(llmtest.Use("", "Bash", map[string]string{"command": "make x"})), say("end"))
	}},
	{hook.Notification, "question", `{"notification_type":"question","message":"AskUser asks: q?"}`, func(t *testing.T, w *stage) {
		w.agent.AskUser = func(context.Context, tool.Call, []tool.Question) ([]tool.Answer, error) { return nil, nil }
		w.tool(t, tools.AskUser(), map[string]any{"questions": []any{map[string]any{"question": "q?"}}})
	}},
	{hook.MessageDisplay, "", `{"message_id":"m1","delta":"hello","final":true}`, func(t *testing.T, w *stage) {
		w.agent.Model = llmtest.Script(say("end"))
		s := w.agent.Session("")
		defer s.Close()
		if _, err := s.Hook(t.Context(), hook.Input{Event: hook.MessageDisplay, MessageID: "m1", Delta: "hello", Final: true}); err != nil {
			t.Fatal(err)
		}
	}},
	{hook.SubagentStart, "helper", `{"agent_type":"helper","agent_id":"*"}`, helperWorks},
	{hook.SubagentStop, "helper", `{"agent_type":"helper","agent_id":"*","reason":"completed","last_assistant_message":"done","stop_hook_active":false}`, helperWorks},
	{"TeammateIdle", "", `{"teammate_name":"ann","team_name":"team_1"}`, func(t *testing.T, w *stage) {
		mates := team.Memory()
		manager := &subagent.Manager{Team: mates, Agents: []*agent.Agent{{Name: "helper", Model: llmtest.Script(say("done"))}}}
		if _, err := mates.CreateTeam(t.Context(), "s", "red", "main", nil, ""); err != nil {
			t.Fatal(err)
		}
		idle := make(chan struct{}, 2)
		w.agent.Hooks = append(w.agent.Hooks, hook.Hook{On: "TeammateIdle", Func: func(context.Context, *hook.Input) (hook.Output, error) {
			idle <- struct{}{}
			return hook.Output{}, nil
		}})
		w.agent.Tools, w.agent.AwaitAgents = []tool.Tool{tools.Agent(manager)}, true
		w.agent.Model = llmtest.Script(llmtest.Call(llmtest.Use("", "Agent", map[string]string{"prompt": "go", "description": "d", "subagent_type": "helper", "name": "ann", "team_name": "red"})), say("end"), say("end"))
		s := w.agent.Session("s")
		defer s.Close()
		if _, err := s.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		<-idle
	}},
	{hook.PreCompact, "manual", `{"trigger":"manual","custom_instructions":"mind the tests"}`, compacts},
	{hook.PostCompact, "manual", `{"trigger":"manual","compact_summary":"All is well."}`, compacts},
	{"CwdChanged", "", `{"old_cwd":"DIR","new_cwd":"DIR/sub"}`, func(t *testing.T, w *stage) {
		w.tool(t, tool.New(tool.Spec{Name: "go"}, func(context.Context, tool.Call, number) (*tool.Result, error) {
			r := tool.Text("there")
			r.Patch.Dir = filepath.Join(w.dir, "sub")
			return r, nil
		}), number{})
	}},
	{"FileChanged", `a\.txt`, `{"file_path":"DIR/a.txt","event":"change"}`, func(t *testing.T, w *stage) {
		w.tool(t, tools.Write(w.ws), map[string]string{"file_path": "a.txt", "content": "x"})
	}},
	{"DirectoryAdded", "", `{"directory":"DIR/sub"}`, func(t *testing.T, w *stage) {
		w.agent.Sessions = session.Memory()
		w.agent.Model = llmtest.Script(say("a"), say("b"))
		for _, dirs := range [][]string{nil, {filepath.Join(w.dir, "sub")}} {
			w.agent.AdditionalDirs = dirs
			s := w.agent.Session("s")
			if _, err := s.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			s.Close()
		}
	}},
	{"ConfigChange", "user_settings", `{"source":"user_settings","name":"model"}`, func(t *testing.T, w *stage) {
		w.agent.CanUseTool = answer(permission.Allow())
		var config tool.Tool
		settings := tools.Settings(toolapi.NewHandle[toolapi.Settings](new(oneSetting)))
		for _, e := range (tools.Builtins{Settings: settings}).Tools() {
			if e.Tool.Spec().Name == "Config" {
				config = e.Tool
			}
		}
		w.tool(t, config, map[string]any{"action": "set", "key": "model", "value": "x"})
	}},
	{"WorktreeCreate", "", `{"name":"w1","worktree_path":"*"}`, worktrees},
	{"WorktreeRemove", "", `{"name":"w1","worktree_path":"*"}`, worktrees},
	{"TaskCreated", "", `{"task_id":"*","task_subject":"a task"}`, tasks},
	{"TaskCompleted", "", `{"task_id":"*","task_subject":"a task"}`, tasks},
	{"InstructionsLoaded", "session_start", `{"file_path":"DIR/AGENTS.md","memory_type":"Project","load_reason":"session_start"}`, func(t *testing.T, w *stage) {
		w.agent.Context = func(_ context.Context, at agent.Place) []agent.Note {
			return []agent.Note{{ID: "a", Text: "x", Files: []event.Instructions{{File: filepath.Join(at.Dir, "AGENTS.md"), Type: "Project", Reason: "session_start"}}}}
		}
		w.play(t, say("end"))
	}},
	{hook.UserPromptExpansion, "review", `{"expansion_type":"slash_command","command_name":"review","command_args":"HEAD","prompt":"Review HEAD."}`, func(t *testing.T, w *stage) {
		w.agent.Model = llmtest.Script(say("a"))
		s := w.agent.Session("")
		defer s.Close()
		if _, err := s.Do(t.Context(), agent.Input{Expansion: &tool.Expansion{Kind: "slash_command", Name: "review", Args: "HEAD", Text: "Review HEAD."}}); err != nil {
			t.Fatal(err)
		}
	}},
	{hook.Elicitation, "s", `{"mcp_server_name":"s","message":"Who?","mode":"form","requested_schema":{"type":"object"},"tool_use_id":"*"}`, elicits},
	{hook.ElicitationResult, "s", `{"mcp_server_name":"s","message":"Who?","mode":"form","requested_schema":{"type":"object"},"action":"decline","tool_use_id":"*"}`, elicits},
}

// elicits makes a call of a tool behind which a server asks.
func elicits(t *testing.T, w *stage) {
	asks := tool.Func(tool.Spec{Name: "asks"}, func(ctx context.Context, _ number) (string, error) {
		return string(toolhost.Elicit(ctx, toolhost.Elicitation{Server: "s", Message: "Who?", Schema: []byte(`{"type":"object"}`)}).Action), nil
	})
	w.agent.Toolsets, w.agent.Permissions = []tool.Set{&changing{lists: [][]tool.Tool{{asks}}}}, bypass
	w.play(t, uses("asks"), say("end"))
}

func tasks(t *testing.T, w *stage) {
	list := team.Memory()
	w.agent.Tools, w.agent.Permissions = []tool.Tool{tools.TaskCreate(list), tools.TaskUpdate(list)}, bypass
	w.play(t, llmtest.Call(llmtest.Use("", "TaskCreate", map[string]string{"subject": "a task", "description": "d"})),
		llmtest.Call(llmtest.Use("", "TaskUpdate", map[string]string{"id": "task_1", "status": "completed"})), say("end"))
}

func helperWorks(t *testing.T, w *stage) {
	w.tool(t, delegate(&agent.Agent{Name: "helper", Model: llmtest.Script(say("done"))}, false), number{1})
}

func worktrees(t *testing.T, w *stage) {
	for _, args := range []string{"git init -q .", "git config user.email a@example.com", "git config user.name a", "git commit -q --allow-empty -m x"} {
		p, err := w.ws.Start(t.Context(), workspace.Command{Args: strings.Fields(args)})
		if err != nil {
			t.Skip("git is not there: ", err)
		}
		p.Wait()
	}
	w.agent.Tools, w.agent.Permissions = []tool.Tool{tools.EnterWorktree(w.ws), tools.ExitWorktree(w.ws)}, bypass
	w.play(t, llmtest.Call(llmtest.Use("", "EnterWorktree", map[string]string{"name": "w1"})),
		llmtest.Call(llmtest.Use("", "ExitWorktree", map[string]string{"action": "remove"})), say("end"))
}

// again prompts a session, and another one that is made of it.
func again(t *testing.T, w *stage, other func(*agent.Session) *agent.Session) {
	w.agent.Sessions = session.Memory()
	w.agent.Model = llmtest.Script(say("a"), say("b"))
	s := w.agent.Session("s")
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	f := other(s)
	defer f.Close()
	if _, err := f.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
}

// compacts has a conversation compacted.
func compacts(t *testing.T, w *stage) {
	w.agent.Model = llmtest.Script(say(strings.Repeat("much ", 500)), say("more"), say("<summary>All is well.</summary>"))
	s := w.agent.Session("")
	defer s.Close()
	for range 2 {
		if _, err := s.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Compact(t.Context(), "mind the tests"); err != nil {
		t.Fatal(err)
	}
}

// duringRun sends a message while a prompt runs.
func duringRun(t *testing.T, w *stage, send func(*agent.Session, context.Context, agent.Input) (string, error)) {
	var s *agent.Session
	w.agent.Tools = []tool.Tool{tool.Func(tool.Spec{Name: "call", ReadOnly: true}, func(ctx context.Context, _ number) (string, error) {
		return send(s, ctx, agent.Input{Text: "faster"})
	})}
	w.agent.Model = llmtest.Script(uses("call"), say("a"), say("b"))
	s = w.agent.Session("")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
}

// Each event is seen at its moment with what it is about: by a function and by a
// shell command, which are told the same.
func TestMoments(t *testing.T) {
	for _, e := range hook.Events {
		if n := slices.IndexFunc(moments, func(m moment) bool { return m.event == e }); n < 0 {
			t.Errorf("%s has no moment", e)
		}
	}
	for _, m := range moments {
		for _, kind := range []string{"function", "command"} {
			t.Run(fmt.Sprintf("%s %s %s", m.event, m.match, kind), func(t *testing.T) {
				t.Parallel()
				dir, err := filepath.EvalSymlinks(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
					t.Fatal(err)
				}
				seen := filepath.Join(t.TempDir(), "seen")
				w := &stage{dir: dir, ws: &workspace.Workspace{Root: dir}}
				out := &workspace.Workspace{Root: dir, Env: map[string]string{"SEEN": seen}}
				t.Cleanup(func() { w.ws.Close(); out.Close() })
				h := shell.Hook(m.event, m.match, shell.Command{Workspace: out, Line: `cat >> "$SEEN"`})
				if kind == "function" {
					var mu sync.Mutex
					h.Func = func(_ context.Context, in *hook.Input) (hook.Output, error) {
						mu.Lock()
						defer mu.Unlock()
						f, err := os.OpenFile(seen, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
						if err != nil {
							return hook.Output{}, err
						}
						defer f.Close()
						return hook.Output{}, json.NewEncoder(f).Encode(in)
					}
				} else if runtime.GOOS == "windows" {
					t.Skip("needs bash")
				}
				w.agent = &agent.Agent{Dir: dir, Hooks: []hook.Hook{h}, Retry: &agent.Retry{Tries: -1}}
				m.run(t, w)
				data, err := os.ReadFile(seen)
				if err != nil {
					t.Fatal("no hook was called: ", err)
				}
				want := strings.ReplaceAll(m.want, "DIR", filepath.ToSlash(dir))
				for line := range strings.Lines(string(data)) {
					if holds(t, line, want) && holds(t, line, fmt.Sprintf(`{"hook_event_name":%q,"session_id":"*","cwd":"*"}`, m.event)) {
						return
					}
				}
				t.Errorf("told\n%s, want %s", data, want)
			})
		}
	}
}

// holds reports whether a JSON object has the members of another one.
func holds(t *testing.T, text, want string) bool {
	t.Helper()
	var a, b map[string]any
	if err := errors.Join(json.Unmarshal([]byte(text), &a), json.Unmarshal([]byte(want), &b)); err != nil {
		t.Fatal(err)
	}
	return same(a, b)
}

func same(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		m, ok := got.(map[string]any)
		for name, v := range want {
			ok = ok && same(m[name], v)
		}
		return ok
	case []any:
		list, ok := got.([]any)
		ok = ok && len(list) == len(want)
		for i := 0; ok && i < len(want); i++ {
			ok = same(list[i], want[i])
		}
		return ok
	case string:
		s, ok := got.(string)
		return ok && (s == want || want == "*" && s != "")
	}
	return got == want
}

func on(e hook.Event, out hook.Output) hook.Hook {
	return hook.Hook{On: e, Func: func(context.Context, *hook.Input) (hook.Output, error) { return out, nil }}
}

// What hooks say reaches the model at its time, once.
func TestHookContext(t *testing.T) {
	m := llmtest.Script(uses("double"), say("end"))
	a := &agent.Agent{Model: m, Tools: []tool.Tool{double}, Hooks: []hook.Hook{
		on(hook.SessionStart, hook.Output{Context: "start"}), on(hook.UserPromptSubmit, hook.Output{Context: "prompt"}),
		on(hook.PreToolUse, hook.Output{Context: "before"}), on(hook.PostToolUse, hook.Output{Context: "after", Block: true, Reason: "look again"}),
	}}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	texts := func(r *llm.Request) string {
		var out []string
		for _, m := range r.Messages {
			if m.Role == llm.User {
				out = append(out, m.Text())
			}
		}
		return strings.Join(out, "|")
	}
	const first = "go|[SessionStart hook] start|[UserPromptSubmit hook] prompt"
	if got := texts(&m.Requests()[0].Request); got != first {
		t.Errorf("first %q", got)
	}
	if got, want := texts(&m.Requests()[1].Request), first+"||[PreToolUse hook] before|[PostToolUse hook] after\nlook again"; got != want {
		t.Errorf("then  %q\nwant  %q", got, want)
	}
}

// A Stop hook makes a complete run go on, and cannot do so for ever.
func TestStopHook(t *testing.T) {
	m := &llmtest.Model{Rule: func(*llmtest.Request, int) llmtest.Step { return say("end") }}
	active := 0
	a := &agent.Agent{Model: m, Hooks: []hook.Hook{{On: hook.Stop, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
		if in.Active {
			active++
		}
		return hook.Output{Block: true, Reason: "not yet"}, nil
	}}}}
	res, err := a.Prompt(t.Context(), "go")
	if err != nil || res.Turns != 9 || active != 8 {
		t.Errorf("%d turns, %d times active, %v", res.Turns, active, err)
	}
}

// A prompt that a hook keeps away does not reach the model, nor does it later.
func TestPromptKeptAway(t *testing.T) {
	m := llmtest.Script(say("fine"))
	a := &agent.Agent{Model: m, Hooks: []hook.Hook{{On: hook.UserPromptSubmit, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
		return hook.Output{Block: strings.Contains(in.Prompt, "secret"), Reason: "no secrets"}, nil
	}}}}
	s := a.Session("")
	defer s.Close()
	if res, err := s.Prompt(t.Context(), "a secret"); !errors.Is(err, agent.ErrStopped) || res.Message != "no secrets" {
		t.Errorf("%+v, %v", res, err)
	}
	if _, err := s.Prompt(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	if n := len(m.Requests()); n != 1 || len(m.Requests()[0].Messages) != 1 || m.Requests()[0].Messages[0].Text() != "hello" {
		t.Errorf("%d requests, %+v", n, m.Requests()[0].Messages)
	}
}

// What a hook permits lifts no rule that forbids or asks.
func TestHookUpdates(t *testing.T) {
	allow := hook.Update{Type: "addRules", Behavior: permission.Allowed, Rules: []permission.Rule{"write"}}
	for _, c := range []struct {
		name   string
		policy permission.Policy
		update []hook.Update
		ran    int
		mode   permission.Mode
	}{
		{"nothing", permission.Policy{}, nil, 0, permission.Default},
		{"allow", permission.Policy{}, []hook.Update{allow}, 1, permission.Default},
		{"allow against deny", permission.Policy{Deny: []permission.Rule{"write"}}, []hook.Update{allow}, 0, permission.Default},
		{"allow against ask", permission.Policy{Ask: []permission.Rule{"write"}}, []hook.Update{allow}, 0, permission.Default},
		{"allow in plan mode", permission.Policy{Mode: permission.Plan}, []hook.Update{allow}, 0, permission.Plan},
		{"deny", bypass, []hook.Update{{Type: "addRules", Behavior: permission.Denied, Rules: []permission.Rule{"write"}}}, 0, permission.Bypass},
		{"taken back", permission.Policy{}, []hook.Update{allow, {Type: "removeRules", Behavior: permission.Allowed, Rules: []permission.Rule{"write"}}}, 0, permission.Default},
		{"mode", permission.Policy{}, []hook.Update{{Type: "setMode", Mode: permission.DontAsk}}, 0, permission.DontAsk},
		{"mode that is not for hooks", permission.Policy{}, []hook.Update{{Type: "setMode", Mode: permission.Bypass}}, 0, permission.Default},
	} {
		ran := 0
		var mode permission.Mode
		a := &agent.Agent{Model: llmtest.Script(uses("double"), uses("write"), say("end")), Permissions: c.policy,
			Tools: []tool.Tool{double, write(func(context.Context, tool.Call, int) (*tool.Result, error) { ran++; return tool.Text("ok"), nil })},
			Hooks: []hook.Hook{{On: hook.PreToolUse, Match: "double", Func: func(context.Context, *hook.Input) (hook.Output, error) { return hook.Output{Updates: c.update}, nil }},
				{On: hook.Stop, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
					mode = in.Mode
					return hook.Output{}, nil
				}}}}
		if _, err := a.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(c.name, err)
		}
		if ran != c.ran || mode != c.mode {
			t.Errorf("%s: ran %d times, mode %s", c.name, ran, mode)
		}
	}
}

// A PermissionRequest hook answers in place of a person where only the mode asks.
func TestPermissionRequestHook(t *testing.T) {
	yes, no := hook.Output{Permission: permission.Allowed}, hook.Output{Permission: permission.Denied, Reason: "never", Interrupt: true}
	for _, c := range []struct {
		name   string
		policy permission.Policy
		out    hook.Output
		ran    int
		end    event.EndReason
	}{
		{"allow", permission.Policy{}, yes, 1, event.Completed},
		{"allow against an ask rule", permission.Policy{Ask: []permission.Rule{"write"}}, yes, 0, event.Completed},
		{"allow in plan mode", permission.Policy{Mode: permission.Plan}, yes, 0, event.Completed},
		{"no opinion", permission.Policy{}, hook.Output{}, 0, event.Completed},
		{"deny and end", permission.Policy{}, no, 0, event.HookStopped},
	} {
		ran := 0
		a := &agent.Agent{Model: llmtest.Script(uses("write"), say("end")), Permissions: c.policy, Hooks: []hook.Hook{on(hook.PermissionRequest, c.out)},
			Tools: []tool.Tool{write(func(context.Context, tool.Call, int) (*tool.Result, error) { ran++; return tool.Text("ok"), nil })}}
		res, _ := a.Prompt(t.Context(), "go")
		if res == nil || ran != c.ran || res.Reason != c.end {
			t.Errorf("%s: ran %d times, %+v", c.name, ran, res)
		}
	}
}

// M7: hooks may use the session that they are called by.
func TestHooksUseTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *agent.Session
		var a *agent.Agent
		depth, runs := 0, 0
		a = &agent.Agent{Model: &llmtest.Model{Rule: func(*llmtest.Request, int) llmtest.Step { runs++; return say("end") }}, Hooks: []hook.Hook{
			{On: hook.UserPromptSubmit, Func: func(ctx context.Context, in *hook.Input) (hook.Output, error) {
				if in.Prompt != "go" {
					return hook.Output{}, nil
				}
				if _, err := s.Prompt(ctx, "inner"); !errors.Is(err, agent.ErrBusy) {
					t.Errorf("a prompt of the same session: %v", err)
				}
				if _, err := s.Pending(ctx); err != nil {
					t.Error(err)
				}
				if err := s.SetMode(ctx, permission.Plan); err != nil {
					t.Error(err)
				}
				_, err := s.Steer(ctx, agent.Input{Text: "more"})
				return hook.Output{}, err
			}},
			{On: hook.SessionStart, Func: func(ctx context.Context, in *hook.Input) (hook.Output, error) {
				_, err := a.Prompt(ctx, "deeper") // and so on
				if errors.Is(err, hook.ErrDepth) {
					depth = hookctx.Depth(ctx)
					return hook.Output{}, nil
				}
				return hook.Output{}, err
			}},
		}}
		s = a.Session("")
		if _, err := s.Prompt(t.Context(), "go"); err != nil {
			t.Error(err)
		}
		s.Close()
		if depth != hookctx.MaxDepth+1 || runs < hookctx.MaxDepth {
			t.Errorf("depth %d, %d runs", depth, runs)
		}
		// Close waits for what ends it: the hook is cancelled and left behind.
		began := time.Now()
		b := &agent.Agent{Model: llmtest.Script(say("end"))}
		b.Hooks = []hook.Hook{{On: hook.UserPromptSubmit, Func: func(context.Context, *hook.Input) (hook.Output, error) { return hook.Output{}, s.Close() }}}
		s = b.Session("")
		if _, err := s.Prompt(t.Context(), "go"); err == nil {
			t.Error("the session was closed and the prompt went on")
		}
		if d := time.Since(began); d > 10*time.Second {
			t.Errorf("it took %v", d)
		}
	})
}

// Nothing is recorded of hooks where there are none.
func TestNoHooks(t *testing.T) {
	store := session.Memory()
	a := &agent.Agent{Model: llmtest.Script(uses("double"), say("end")), Tools: []tool.Tool{double}, Sessions: store}
	s := a.Session("s")
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	for _, e := range history(t, store, "s") {
		switch f := e.Data.(type) {
		case fact.Hooked, fact.ToolDone, event.PermissionsChanged:
			t.Errorf("%+v", f)
		case fact.Configured:
			if f.Start != "" || f.Hooks != nil {
				t.Errorf("%+v", f)
			}
		}
	}
}
