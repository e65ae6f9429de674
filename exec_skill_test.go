package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

type begun struct {
	Skill string `json:"skill"`
	End   bool   `json:"end,omitempty"`
}

// scopes is a tool that begins and ends skills.
func scopes(table map[string]skillscope.Scope) tool.Tool {
	return tool.New(tool.Spec{Name: "Skill", ReadOnly: true, Barrier: true}, func(_ context.Context, c tool.Call, in begun) (*tool.Result, error) {
		r := tool.Text(fmt.Sprintf("%d in force", len(c.Scopes)))
		if r.Patch.End = in.End; in.End {
			return r, nil
		}
		sc := table[in.Skill]
		sc.Skill = in.Skill
		r.Patch.Begin = &sc
		return r, nil
	}).OnClassify(func(tool.Call, begun) tool.Traits { return tool.Traits{ReadOnly: true, IgnoresSkillLimits: true} })
}

// probe is a tool that notes its calls.
func probe(name string, ran *[]string, class tool.Traits) tool.Tool {
	return tool.New(tool.Spec{Name: name, Deferred: strings.HasPrefix(name, "Deferred"), ReadOnly: class.ReadOnly}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) {
		*ran = append(*ran, name)
		return tool.Text("ok"), nil
	}).OnClassify(func(tool.Call, struct{}) tool.Traits { return class })
}

func call(name string, input any) llm.ToolUse { return llmtest.Use("", name, input) }

// A tool that is not in a skill's list does not run, on any path.
func TestSkillBoundEscapes(t *testing.T) {
	table := map[string]skillscope.Scope{
		"reader": {Tools: []permission.Rule{"read", "Bash(git diff *)", "Batch", "ToolSearch"}},
		"writer": {Tools: []permission.Rule{"Write"}},
		"open":   {},
		"nobody": {Tools: []permission.Rule{"Nothing"}},
	}
	none := struct{}{}
	skill := func(name string) llm.ToolUse { return call("Skill", begun{Skill: name}) }
	end := call("Skill", begun{End: true})
	allow := permission.Decision{Behavior: permission.Allowed}
	for _, c := range []struct {
		name    string
		calls   []llm.ToolUse
		hooks   []hook.Hook
		can     agent.CanUseToolFunc
		byUser  string
		ran     []string
		oneTurn bool
	}{
		{name: "listed", calls: []llm.ToolUse{skill("reader"), call("Read", none), call("Bash", line{"git diff"})}, ran: []string{"Read", "git diff"}},
		{name: "another tool", calls: []llm.ToolUse{skill("reader"), call("Write", none)}},
		{name: "same answer", calls: []llm.ToolUse{skill("reader"), call("Write", none)}, oneTurn: true},
		{name: "by an alias", calls: []llm.ToolUse{skill("reader"), call("write", none)}},
		{name: "only names", calls: []llm.ToolUse{skill("nobody"), call("Read", none), call("Write", none)}},
		{name: "list of commands", calls: []llm.ToolUse{skill("reader"), call("Bash", line{"git diff; touch x"}), call("Bash", line{"git diff && touch x"})}},
		{name: "substitution", calls: []llm.ToolUse{skill("reader"), call("Bash", line{"git diff $(touch x)"}), call("Bash", line{"git diff `touch x`"})}},
		{name: "redirection", calls: []llm.ToolUse{skill("reader"), call("Bash", line{"git diff > x"})}},
		{name: "reading by command", calls: []llm.ToolUse{skill("reader"), call("Bash", line{"cat x"})}},
		{name: "sub-agent", calls: []llm.ToolUse{skill("reader"), call("Agent", none)}},
		{name: "MCP tool", calls: []llm.ToolUse{skill("reader"), call("mcp__files__write", none)}},
		{name: "batch", calls: []llm.ToolUse{skill("reader"), call("Batch", json.RawMessage(`{"tool_calls":[{"tool":"Write","parameters":{}},{"tool":"Read","parameters":{}}]}`))}, ran: []string{"Read"}},
		{name: "found tool", calls: []llm.ToolUse{skill("reader"), call("ToolSearch", json.RawMessage(`{"query":"select:DeferredWrite"}`)), call("DeferredWrite", none)}},
		{name: "nested without a list", calls: []llm.ToolUse{skill("reader"), skill("open"), call("Write", none), call("Read", none)}, ran: []string{"Read"}},
		{name: "nested, its own list alone", calls: []llm.ToolUse{skill("reader"), skill("writer"), call("Read", none), call("Write", none)}, ran: []string{"Write"}},
		{name: "nested, then back", calls: []llm.ToolUse{skill("reader"), skill("writer"), end, call("Write", none), call("Read", none), end, call("Write", none)}, ran: []string{"Read", "Write"}},
		{name: "ending more than there is", calls: []llm.ToolUse{end, skill("reader"), call("Write", none)}},
		{name: "the user's skill is not the model's to end", byUser: "reader", calls: []llm.ToolUse{end, call("Write", none), skill("writer"), end, end, call("Write", none), call("Read", none)}, ran: []string{"Read"}},
		{name: "a hook's permission", hooks: []hook.Hook{on(hook.PreToolUse, hook.Output{Permission: permission.Allowed})}, calls: []llm.ToolUse{skill("reader"), call("Write", none)}},
		{name: "a hook's rule", hooks: []hook.Hook{on(hook.PreToolUse, hook.Output{Updates: []hook.Update{{Type: "addRules", Behavior: permission.Allowed, Rules: []permission.Rule{"Write"}}}})},
			calls: []llm.ToolUse{skill("reader"), call("Write", none)}},
		{name: "a hook's input", hooks: []hook.Hook{on(hook.PreToolUse, hook.Output{Input: json.RawMessage(`{"command":"touch x"}`)})}, calls: []llm.ToolUse{call("Bash", line{"git diff"})}, byUser: "reader"},
		{name: "the callback's permission", can: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) { return allow, nil },
			calls: []llm.ToolUse{skill("reader"), call("Write", none)}},
		{name: "the callback's input", can: func(_ context.Context, c tool.Call, _ permission.Decision) (permission.Decision, error) {
			if c.Name == "Bash" {
				return permission.AllowWith(json.RawMessage(`{"command":"touch x"}`)), nil
			}
			return allow, nil
		}, calls: []llm.ToolUse{skill("reader"), call("Bash", line{"git diff"})}},
	} {
		for _, mode := range []permission.Mode{permission.Bypass, permission.Auto} {
			t.Run(c.name+"/"+string(mode), func(t *testing.T) {
				var ran []string
				var answers []llmtest.Step
				if c.oneTurn {
					answers = append(answers, llmtest.Call(c.calls...))
				} else {
					for _, u := range c.calls {
						answers = append(answers, llmtest.Call(u))
					}
				}
				a := &agent.Agent{Model: llmtest.Script(append(answers, say("end"))...), Hooks: c.hooks, CanUseTool: c.can,
					Permissions: permission.Policy{Mode: mode, Allow: []permission.Rule{"Write", "Read", "Bash", "Agent", "mcp__files"}},
					Tools: []tool.Tool{scopes(table), probe("Read", &ran, tool.Traits{ReadOnly: true}), probe("Write", &ran, tool.Traits{}), lines(&ran), probe("Agent", &ran, tool.Traits{}),
						probe("mcp__files__write", &ran, tool.Traits{}), tools.Batch(), tools.ToolSearch(), probe("DeferredWrite", &ran, tool.Traits{})}}
				in := agent.Input{Text: "go"}
				if c.byUser != "" {
					sc := table[c.byUser]
					sc.Skill = c.byUser
					in.Expansion = &tool.Expansion{Kind: "slash_command", Name: c.byUser, Text: "do it", Scope: &sc}
				}
				s := a.Session("")
				defer s.Close()
				if _, err := s.Do(t.Context(), in); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(ran, c.ran) {
					t.Errorf("ran %q, want %q", ran, c.ran)
				}
			})
		}
	}
}

// A skill is in force until its run ends, also in a resumed run and in a fork.
func TestSkillOutlivesTheProgram(t *testing.T) {
	table := map[string]skillscope.Scope{"reader": {Tools: []permission.Rule{"Read"}}}
	var ran []string
	all := []tool.Tool{scopes(table), probe("Read", &ran, tool.Traits{ReadOnly: true}), probe("Write", &ran, tool.Traits{})}
	store := session.Memory()
	deferring := func(_ context.Context, c tool.Call, _ permission.Decision) (permission.Decision, error) {
		if c.Name == "Read" {
			return permission.Defer(), nil
		}
		return permission.Allow(), nil
	}
	a := &agent.Agent{Model: llmtest.Script(llmtest.Call(call("Skill", begun{Skill: "reader"})), llmtest.Call(call("Read", struct{}{}))), Tools: all, Sessions: store, CanUseTool: deferring}
	s := a.Session("")
	if _, err := s.Prompt(t.Context(), "go"); err == nil {
		t.Fatal("the run was not suspended")
	}
	fork, err := s.Fork(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	id := fork.ID
	fork.Close()
	for _, id := range []string{s.ID, id} {
		ran = nil
		b := &agent.Agent{Model: llmtest.Script(llmtest.Call(call("Write", struct{}{})), say("end"), llmtest.Call(call("Write", struct{}{})), say("end")), Tools: all, Sessions: store,
			Permissions: permission.Policy{Mode: permission.Bypass}}
		again := b.Session(id)
		pending, err := again.Pending(t.Context())
		if err != nil || len(pending) != 1 {
			t.Fatal(pending, err)
		}
		if err := again.Decide(t.Context(), pending[0].Call.ID, permission.Allow()); err != nil {
			t.Fatal(err)
		}
		for _, err := range again.Resume(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(ran, []string{"Read"}) {
			t.Errorf("resumed: ran %q", ran)
		}
		if err := again.SetMode(t.Context(), permission.Bypass); err != nil {
			t.Fatal(err)
		}
		if _, err := again.Prompt(t.Context(), "now write"); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(ran, []string{"Read", "Write"}) {
			t.Errorf("the next prompt: ran %q", ran)
		}
		again.Close()
	}
}

// A follow-up is something else that the user wants: the skill has done its work.
func TestSkillEndsBeforeFollowUp(t *testing.T) {
	var ran []string
	var s *agent.Session
	first := llmtest.Reply(func(*llm.Request) llm.Response {
		if _, err := s.FollowUp(t.Context(), agent.Input{ID: "f", Text: "now write"}); err != nil {
			t.Error(err)
		}
		return llm.Response{Stop: llm.UseTools, Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.ToolUse{ID: "w", Name: "Write", Input: json.RawMessage("{}")}}}}
	})
	a := &agent.Agent{Model: llmtest.Script(first, say("denied"), llmtest.Call(call("Write", struct{}{})), say("end")),
		Tools: []tool.Tool{probe("Write", &ran, tool.Traits{})}, Permissions: permission.Policy{Mode: permission.Bypass}}
	s = a.Session("")
	defer s.Close()
	sc := skillscope.Scope{Skill: "reader", Tools: []permission.Rule{"Read"}}
	denied := 0
	for e, err := range s.StreamInput(t.Context(), agent.Input{Expansion: &tool.Expansion{Kind: "slash_command", Name: "reader", Text: "read", Scope: &sc}}) {
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := e.Data.(event.ToolResult); ok && r.Cause == fact.ByDenial {
			denied++
		}
	}
	if denied != 1 || !slices.Equal(ran, []string{"Write"}) {
		t.Errorf("denied %d, ran %q", denied, ran)
	}
	if _, err := s.Steer(t.Context(), agent.Input{Expansion: &tool.Expansion{Text: "x"}}); err == nil {
		t.Error("a command joined a run as a message")
	}
}

// A skill's model answers while the skill is in force.
func TestSkillModel(t *testing.T) {
	table := map[string]skillscope.Scope{"deep": {Model: "big"}, "inner": {}, "lost": {Model: "nowhere"}}
	var order []string
	named := func(name string, replies ...llmtest.Step) llm.Model {
		return &namedModel{llmtest.Script(replies...), name, &order}
	}
	skill := func(name string) llmtest.Step { return llmtest.Call(call("Skill", begun{Skill: name})) }
	big := named("big", skill("inner"), llmtest.Call(call("Skill", begun{End: true})), llmtest.Call(call("Skill", begun{End: true})))
	a := &agent.Agent{Model: named("small", skill("deep"), skill("lost"), say("end"), say("again")), Tools: []tool.Tool{scopes(table)},
		Models: func(name string) (llm.Model, error) {
			if name == "big" {
				return big, nil
			}
			return nil, fmt.Errorf("there is no model %s", name)
		}}
	s := a.Session("")
	defer s.Close()
	res, err := s.Prompt(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	if want := "small big big big small small"; strings.Join(order, " ") != want {
		t.Errorf("asked %v, want %s", order, want)
	}
	if _, ok := res.Models["big"]; !ok || len(res.Models) != 2 {
		t.Errorf("spending %+v", res.Models)
	}
	if _, err := s.Prompt(t.Context(), "go"); err != nil || order[len(order)-1] != "small" {
		t.Errorf("the next prompt went to %v, %v", order, err)
	}
}

type namedModel struct {
	llm.Model
	name  string
	order *[]string
}

func (m *namedModel) Name() string { return m.name }

func (m *namedModel) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Delta, error] {
	*m.order = append(*m.order, m.name)
	return m.Model.Stream(ctx, r)
}

// Hooks see what a command stands for before it reaches the model, and may keep it away.
func TestPromptExpansionHook(t *testing.T) {
	for _, blocks := range []bool{false, true} {
		var seen []hook.Input
		note := hook.Hook{On: hook.UserPromptExpansion, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
			seen = append(seen, *in)
			return hook.Output{Block: blocks, Reason: "not now", Context: "mind the gap"}, nil
		}}
		submitted := 0
		second := hook.Hook{On: hook.UserPromptSubmit, Func: func(context.Context, *hook.Input) (hook.Output, error) {
			submitted++
			return hook.Output{}, nil
		}}
		model := llmtest.Script(say("done"))
		a := &agent.Agent{Model: model, Hooks: []hook.Hook{note, second}}
		s := a.Session("")
		res, err := s.Do(t.Context(), agent.Input{Expansion: &tool.Expansion{Kind: "slash_command", Name: "review", Args: "HEAD", Text: "Review HEAD."}})
		if len(seen) != 1 || seen[0].Fields["command_name"] != "review" || seen[0].Fields["command_args"] != "HEAD" || seen[0].Fields["expansion_type"] != "slash_command" || seen[0].Prompt != "Review HEAD." {
			t.Fatalf("hooks were told %+v", seen)
		}
		if blocks {
			messages, _ := s.Messages(t.Context())
			if err == nil || res.Reason != event.HookStopped || len(messages) != 0 || submitted != 0 {
				t.Errorf("blocked: %+v, %v, %d messages, submitted %d", res, err, len(messages), submitted)
			}
		} else if err != nil || res.Text != "done" || submitted != 1 {
			t.Errorf("%+v, %v", res, err)
		}
		s.Close()
	}
}

// A fallback that answered when a skill with its own model began does not answer the next prompt.
func TestFallbackEndsWithItsPrompt(t *testing.T) {
	down := llmtest.Fail(&llm.APIError{Class: llm.Overloaded, Status: 529})
	first := llmtest.Script(down, say("end"))
	spare := llmtest.Script(llmtest.Call(call("Skill", begun{})), say("unexpected"))
	thinker := llmtest.Script(say("thought"))
	a := &agent.Agent{Model: llm.Named(first, "first"), Fallbacks: []llm.Model{llm.Named(spare, "spare")}, Retry: &agent.Retry{Tries: -1}, Sessions: session.Memory(),
		Models: func(string) (llm.Model, error) { return llm.Named(thinker, "thinker"), nil },
		Tools:  []tool.Tool{scopes(map[string]skillscope.Scope{"": {Model: "thinker"}})}}
	s := a.Session("s")
	defer s.Close()
	for i, want := range []string{"thought", "end"} {
		res, err := s.Prompt(t.Context(), "go")
		if err != nil || res.Text != want {
			t.Fatalf("prompt %d: %+v, %v", i, res, err)
		}
	}
}
