package agent_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
)

// modelNamed returns a model that answers by the number of answers in the conversation since
// the last prompt.
func modelNamed(id string, steps ...llmtest.Step) *llmtest.Model {
	return &llmtest.Model{ID: id, Facts: llm.Info{Price: &llm.Price{Input: 1, Output: 2}}, Rule: func(r *llmtest.Request, _ int) llmtest.Step {
		n := 0
		for _, m := range slices.Backward(r.Messages) {
			if m.Role == llm.Assistant {
				n++
			} else if _, ok := m.Content[0].(llm.Text); ok {
				break
			}
		}
		return steps[min(n, len(steps)-1)]
	}}
}

// eventsOf runs a prompt and returns its events.
func eventsOf(t *testing.T, s *agent.Session, in agent.Input) []event.Event {
	t.Helper()
	var events []event.Event
	for e, err := range s.StreamInput(t.Context(), in) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// factOf returns the last fact of a type.
func factOf[T event.Fact](events []event.Event) (f T) {
	for _, e := range events {
		if is, ok := e.Data.(T); ok {
			f = is
		}
	}
	return f
}

// Each option holds for one prompt, and the next one has the agent's settings again.
func TestPromptOptions(t *testing.T) {
	large, small, found := modelNamed("large", say("ok")), modelNamed("small", say("ok")), modelNamed("found", say("ok"))
	for name, c := range map[string]struct {
		in  agent.Input
		has func(c fact.Configured) bool
	}{
		"fallback": {agent.Input{Model: "small"}, func(c fact.Configured) bool { return c.Model == "small" && len(c.Fallbacks) == 0 }},
		"found":    {agent.Input{Model: "found"}, func(c fact.Configured) bool { return c.Model == "found" && c.Fallbacks[0] == "small" }},
		"tools":    {agent.Input{Tools: []string{"b*"}}, func(c fact.Configured) bool { return len(c.Tools) == 1 && c.Tools[0].Name == "b" }},
		"no tools": {agent.Input{Tools: []string{}}, func(c fact.Configured) bool { return len(c.Tools) == 0 }},
		"mode":     {agent.Input{Mode: permission.Plan}, func(c fact.Configured) bool { return c.Mode == permission.Plan }},
		"budget":   {agent.Input{Budget: agent.Budget{USD: 0.5, Turns: 3}}, func(c fact.Configured) bool { return c.Limits.USD == 0.5 && c.Limits.Turns == 2 }},
		"larger":   {agent.Input{Budget: agent.Budget{USD: 9, ModelCalls: 4}}, func(c fact.Configured) bool { return c.Limits.USD == 1 && c.Limits.ModelCalls == 4 }},
		"all together": {agent.Input{Model: "small", Tools: []string{"a"}, Mode: permission.Default, Budget: agent.Budget{USD: 0.1}}, func(c fact.Configured) bool {
			return c.Model == "small" && len(c.Tools) == 1 && c.Mode == permission.Default && c.Limits.USD == 0.1
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a := &agent.Agent{Model: large, Fallbacks: []llm.Model{small}, Tools: []tool.Tool{named("a"), named("b")}, Budget: agent.Budget{USD: 1, Turns: 2},
				Permissions: permission.Policy{Mode: permission.AcceptEdits},
				Models: func(name string) (llm.Model, error) {
					if name != "found" {
						return nil, errors.New("unknown")
					}
					return found, nil
				}}
			s := a.Session("")
			defer s.Close()
			usual := func(c fact.Configured) bool {
				return c.Model == "large" && c.Fallbacks[0] == "small" && len(c.Tools) == 2 && c.Mode == permission.AcceptEdits && c.Limits == (fact.Limits{USD: 1, Turns: 2}) && c.Prompt == nil
			}
			in := c.in
			in.Text = "go"
			if got := factOf[fact.Configured](eventsOf(t, s, in)); !c.has(got) || got.Prompt == nil {
				t.Errorf("with the option: %+v", got)
			}
			if mode, err := s.Mode(t.Context()); mode != permission.AcceptEdits || err != nil {
				t.Errorf("after the prompt the mode is %s, %v", mode, err)
			}
			fork, err := s.Fork(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			defer fork.Close()
			for _, next := range []*agent.Session{s, fork} {
				if got := factOf[fact.Configured](eventsOf(t, next, agent.Input{Text: "again"})); !usual(got) {
					t.Errorf("the next prompt: %+v", got)
				}
			}
		})
	}
}

// An option that is not within the agent's bounds is refused before anything happens.
func TestPromptOptionsRefused(t *testing.T) {
	free := &llmtest.Model{ID: "unpriced", Steps: []llmtest.Step{say("ok")}}
	a := &agent.Agent{Model: modelNamed("large", say("ok")), Fallbacks: []llm.Model{free}, Tools: []tool.Tool{named("Read"), named("Bash")}, DisallowedTools: []string{"Bash"},
		AllowModeChange: func(m permission.Mode) error {
			if m == permission.DontAsk {
				return errors.New("not that one")
			}
			return nil
		}}
	for name, c := range map[string]struct {
		in   agent.Input
		want string
	}{
		"unknown model":      {agent.Input{Model: "huge"}, `no model "huge"`},
		"negative budget":    {agent.Input{Budget: agent.Budget{Turns: -1}}, "must not be negative"},
		"price":              {agent.Input{Budget: agent.Budget{USD: 1}}, `the price of model "unpriced" is not known`},
		"misspelt tool":      {agent.Input{Tools: []string{"Raed"}}, "did you mean Read?"},
		"disallowed tool":    {agent.Input{Tools: []string{"Bash"}}, `"Bash", which is no tool of the agent`},
		"unknown mode":       {agent.Input{Mode: "free"}, "free"},
		"looser mode":        {agent.Input{Mode: permission.AcceptEdits}, "permits more than default"},
		"mode not allowed":   {agent.Input{Mode: permission.DontAsk}, "not that one"},
		"compaction request": {agent.Input{Compact: true, Model: "large"}, "takes no options"},
	} {
		t.Run(name, func(t *testing.T) {
			s := a.Session("")
			defer s.Close()
			in := c.in
			in.Text = "go"
			if _, err := s.Do(t.Context(), in); !errors.Is(err, agent.ErrConfig) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// A server's tool may appear during the prompt, so its name is no error.
func TestPromptToolsOfServers(t *testing.T) {
	m := modelNamed("large", say("ok"))
	a := &agent.Agent{Model: m, Tools: []tool.Tool{named("Read")}}
	if _, err := a.Do(t.Context(), agent.Input{Text: "go", Tools: []string{"Read", "mcp__tickets"}}); err != nil {
		t.Error(err)
	}
}

// Messages to a running prompt take no options, and an empty message is ignored.
func TestMessagesTakeNoOptions(t *testing.T) {
	var s *agent.Session
	var inbox []error
	var steered, followed error
	in := agent.Input{Text: "more", Mode: permission.Plan}
	asked := tool.Func(tool.Spec{Name: "ask", ReadOnly: true}, func(ctx context.Context, _ number) (string, error) {
		_, steered = s.Steer(ctx, in)
		_, followed = s.FollowUp(ctx, agent.Input{Text: "more", Tools: []string{}})
		return "", nil
	})
	m := llmtest.Script(uses("ask"), say("end"))
	a := &agent.Agent{Model: m, Tools: []tool.Tool{asked}, Inbox: func(_ context.Context, _ string, keep func([]agent.Input) error) error {
		if inbox == nil {
			inbox = append(inbox, keep([]agent.Input{{Text: "dropped"}, in}), keep([]agent.Input{{ID: "blank", Text: " \n"}, {ID: "kept", Text: "news"}}))
		}
		return nil
	}}
	s = a.Session("")
	defer s.Close()
	events := eventsOf(t, s, agent.Input{Text: "go"})
	for who, err := range map[string]error{"Steer": steered, "FollowUp": followed, "Inbox": inbox[0]} {
		if !errors.Is(err, agent.ErrConfig) {
			t.Errorf("%s: %v", who, err)
		}
	}
	var notices []string
	for _, e := range events {
		if f, ok := e.Data.(event.UserMessage); ok && f.Delivery == fact.AsNotice {
			notices = append(notices, f.ID)
		}
	}
	if inbox[1] != nil || !slices.Equal(notices, []string{"kept"}) {
		t.Errorf("of the inbox, %q are on record; %v", notices, inbox[1])
	}
}

// A run that dies after any fact of a prompt with options continues with them, in a program
// that knows of them only from the journal. The prompt after it does not have them.
func TestPromptOptionsResumed(t *testing.T) {
	var small *llmtest.Model
	var modes []permission.Mode
	moded := tool.New(tool.Spec{Name: "a", ReadOnly: true}, func(_ context.Context, call tool.Call, _ number) (*tool.Result, error) {
		modes = append(modes, call.Mode)
		return tool.Text("ok"), nil
	})
	build := func(store session.Store) *agent.Agent {
		small = modelNamed("small", uses("a"), uses("a"), say("done"))
		return &agent.Agent{Model: modelNamed("large", say("large")), Models: func(name string) (llm.Model, error) { return small, nil }, Sessions: store,
			Tools: []tool.Tool{moded, named("b")}, Budget: agent.Budget{USD: 1}, Permissions: permission.Policy{Mode: permission.AcceptEdits}, Program: "p"}
	}
	s := build(session.Memory()).Session("s")
	in := agent.Input{Text: "go", Model: "small", Tools: []string{"a"}, Mode: permission.Plan, Budget: agent.Budget{USD: 0.25}}
	facts := recorded(eventsOf(t, s, in))
	s.Close()
	begun := slices.IndexFunc(facts, func(e event.Event) bool { _, ok := e.Data.(event.UserMessage); return ok })
	for n := begun + 1; n < len(facts); n++ {
		t.Run(fmt.Sprintf("after %d facts", n), func(t *testing.T) {
			s := build(seeded(t, facts[:n])).Session("s")
			defer s.Close()
			var limits fact.Limits
			for e, err := range s.Resume(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if f, ok := e.Data.(event.RunEnd); ok && f.Text != "done" {
					t.Errorf("the end says %q", f.Text)
				}
				if f, ok := e.Data.(event.ModelChanged); ok {
					t.Errorf("the model was changed to %s", f.Model)
				}
				if f, ok := e.Data.(fact.BudgetChanged); ok {
					limits = f.Limits
				}
				if _, ok := e.Data.(event.Resumed); ok {
					if err := s.SetBudget(t.Context(), agent.Budget{USD: 0.75}); err != nil {
						t.Error(err)
					}
				}
			}
			for _, r := range small.Requests() {
				if got := toolNames(&r.Request); got != "a" {
					t.Errorf("a request has the tools %q", got)
				}
			}
			if slices.ContainsFunc(modes, func(m permission.Mode) bool { return m != permission.Plan }) {
				t.Errorf("calls were made in the modes %v", modes)
			}
			if limits.USD > 0.25 {
				t.Errorf("a larger budget of the session loosens the prompt: %+v", limits)
			}
			c := factOf[fact.Configured](eventsOf(t, s, agent.Input{Text: "again"}))
			if c.Model != "large" || len(c.Tools) != 2 || c.Mode != permission.AcceptEdits || c.Prompt != nil || c.Limits.USD < 0.75 {
				t.Errorf("the prompt after it: %+v", c)
			}
		})
	}
}

// If the agent no longer has the prompt's model, a resumed run continues with the agent's.
func TestPromptModelGone(t *testing.T) {
	store := session.Memory()
	small, large := modelNamed("small", uses("ask"), say("small")), modelNamed("large", uses("ask"), say("large"))
	ask := tool.Func(tool.Spec{Name: "ask"}, func(context.Context, number) (string, error) { return "", nil })
	a := &agent.Agent{Model: large, Fallbacks: []llm.Model{small}, Tools: []tool.Tool{ask}, Sessions: store, CanUseTool: answer(permission.Defer())}
	s := a.Session("s")
	if _, err := s.Do(t.Context(), agent.Input{Text: "go", Model: "small"}); !errors.Is(err, agent.ErrSuspended) {
		t.Fatal(err)
	}
	s.Close()
	later := *a
	later.Fallbacks, later.CanUseTool = nil, answer(permission.Allow())
	s = later.Session("s")
	defer s.Close()
	for _, err := range s.Resume(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Result().Text; got != "large" {
		t.Errorf("it ended with %q", got)
	}
}

// The sub-agents of a prompt have its tools and its mode at most, also those with tools and
// a mode of their own, and those that outlast the prompt.
func TestPromptOptionsOfChildren(t *testing.T) {
	for _, background := range []bool{false, true} {
		for _, own := range []bool{false, true} {
			t.Run(fmt.Sprintf("background %v, own tools %v", background, own), func(t *testing.T) {
				ran := map[string]int{}
				edit := func(name string) tool.Tool {
					return tool.Func(tool.Spec{Name: name}, func(context.Context, number) (string, error) { ran[name]++; return "", nil })
				}
				worker := llmtest.Script(uses("read", "a", "b"), say("done"), uses("read", "a", "b"), say("done"))
				helper := &agent.Agent{Name: "helper", Model: worker, Permissions: permission.Policy{Mode: permission.Bypass}}
				store := session.Memory()
				parent := &llmtest.Model{Rule: func(r *llmtest.Request, _ int) llmtest.Step {
					if r.Messages[len(r.Messages)-1].Content.Text() == "go" {
						return delegates(1)
					}
					return say("end")
				}}
				a := &agent.Agent{Model: parent, Sessions: store, AwaitAgents: true, Permissions: bypass,
					Tools: []tool.Tool{named("read"), edit("a"), edit("b"), delegate(helper, background)}}
				if own {
					helper.Tools = a.Tools[:3]
				}
				s := a.Session("s")
				defer s.Close()
				eventsOf(t, s, agent.Input{Text: "go", Tools: []string{"delegate", "read", "a"}, Mode: permission.Plan})
				tools := toolNames(&worker.Requests()[0].Request)
				if strings.Contains(tools, "b") || !strings.Contains(tools, "a") || len(ran) > 0 {
					t.Errorf("the sub-agent has the tools %q; %v ran in plan mode", tools, ran)
				}
				eventsOf(t, s, agent.Input{Text: "go"})
				if tools := toolNames(&worker.Requests()[2].Request); !strings.Contains(tools, "b") || ran["a"] != 1 || ran["b"] != 1 {
					t.Errorf("in the next prompt it has the tools %q, and ran %v", tools, ran)
				}
			})
		}
	}
}

// A sub-agent that waits for a decision continues within the bounds of its prompt, also in
// another program.
func TestPromptOptionsOfSuspendedChildren(t *testing.T) {
	for _, background := range []bool{false, true} {
		t.Run(fmt.Sprintf("background %v", background), func(t *testing.T) {
			ran := map[string]permission.Mode{}
			edit := func(name string) tool.Tool {
				return tool.New(tool.Spec{Name: name}, func(_ context.Context, call tool.Call, _ number) (*tool.Result, error) {
					ran[name] = call.Mode
					return tool.Text("ok"), nil
				})
			}
			worker := modelNamed("worker", uses("a"), uses("b"), say("done"))
			parent := &llmtest.Model{Facts: llm.Info{Price: new(llm.Price)}, Rule: func(r *llmtest.Request, _ int) llmtest.Step {
				if r.Messages[len(r.Messages)-1].Content.Text() == "go" {
					return delegates(1)
				}
				return say("end")
			}}
			a := &agent.Agent{Model: parent, Sessions: session.Memory(), AwaitAgents: true, CanUseTool: answer(permission.Defer()), Permissions: permission.Policy{Mode: permission.AcceptEdits},
				Tools: []tool.Tool{edit("a"), edit("b"), delegate(&agent.Agent{Name: "helper", Model: worker}, background)}}
			a.Permissions.Allow = []permission.Rule{"delegate"}
			s := a.Session("s")
			if _, err := s.Do(t.Context(), agent.Input{Text: "go", Tools: []string{"delegate", "a"}, Mode: permission.Default}); !errors.Is(err, agent.ErrSuspended) {
				t.Fatal(err)
			}
			s.Close()
			later := *a
			later.CanUseTool = answer(permission.Allow())
			s = later.Session("s")
			defer s.Close()
			for _, err := range s.Resume(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
			}
			if _, b := ran["b"]; b || ran["a"] != permission.Default {
				t.Errorf("the sub-agent ran %v", ran)
			}
			for i, r := range worker.Requests() {
				if names := toolNames(&r.Request); strings.Contains(names, "b") {
					t.Errorf("request %d has the tools %q", i, names)
				}
			}
		})
	}
}

// Changes of the host during the prompt hold for the session as well. Those of hooks and
// tools end with the prompt, and permit no more than the mode of the session.
func TestModeChangesInPromptWithMode(t *testing.T) {
	for name, c := range map[string]struct {
		session, prompt, to permission.Mode
		host                bool
		in, later           permission.Mode // during the prompt after the change, and in the next prompt
	}{
		"host":           {permission.AcceptEdits, permission.Plan, permission.Default, true, permission.Default, permission.Default},
		"host loosens":   {permission.Default, permission.Plan, permission.Bypass, true, permission.Bypass, permission.Bypass},
		"host, the same": {permission.AcceptEdits, permission.Plan, permission.Plan, true, permission.Plan, permission.Plan},
		"tool":           {permission.AcceptEdits, permission.Plan, permission.Default, false, permission.Default, permission.AcceptEdits},
		"tool too loose": {permission.DontAsk, permission.Plan, permission.Default, false, permission.Plan, permission.DontAsk},
	} {
		for _, by := range []string{"tool", "hook"} {
			t.Run(name+" by "+by, func(t *testing.T) {
				var s *agent.Session
				change := tool.New(tool.Spec{Name: "change", ReadOnly: true}, func(ctx context.Context, _ tool.Call, _ number) (*tool.Result, error) {
					out := tool.Text("changed")
					if c.host {
						return out, s.SetMode(ctx, c.to)
					}
					if by == "tool" {
						out.Patch.Mode = c.to
					}
					return out, nil
				})
				a := &agent.Agent{Model: modelNamed("m", uses("change"), uses("change"), say("end")), Tools: []tool.Tool{change}, Permissions: permission.Policy{Mode: c.session}}
				var modes []permission.Mode
				a.Hooks = []hook.Hook{{On: hook.PreToolUse, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
					modes = append(modes, in.Mode)
					if by == "hook" && !c.host {
						return hook.Output{Updates: []hook.Update{{Type: "setMode", Mode: c.to}}}, nil
					}
					return hook.Output{}, nil
				}}}
				s = a.Session("")
				defer s.Close()
				eventsOf(t, s, agent.Input{Text: "go", Mode: c.prompt})
				if got := []permission.Mode{c.prompt, c.in}; !slices.Equal(modes[:2], got) {
					t.Errorf("the calls were made in the modes %v, want %v", modes, got)
				}
				a.Tools = nil
				if got := factOf[fact.Configured](eventsOf(t, s, agent.Input{Text: "again"})).Mode; got != c.later {
					t.Errorf("the next prompt is in mode %s, want %s", got, c.later)
				}
			})
		}
	}
}

// A change of the session between a suspended prompt with options and its resumption holds.
func TestSettingsOfSuspendedPrompt(t *testing.T) {
	ask := tool.Func(tool.Spec{Name: "ask"}, func(context.Context, number) (string, error) { return "", nil })
	for _, open := range []bool{true, false} {
		store := session.Memory()
		small, other := modelNamed("small", uses("ask"), say("small")), modelNamed("other", uses("ask"), say("other"))
		a := &agent.Agent{Model: modelNamed("large", say("large")), Fallbacks: []llm.Model{small}, Tools: []tool.Tool{ask}, Sessions: store, CanUseTool: answer(permission.Defer()), Program: "p", Permissions: permission.Policy{Mode: permission.AcceptEdits}}
		s := a.Session("s")
		if _, err := s.Do(t.Context(), agent.Input{Text: "go", Model: "small", Mode: permission.Default}); !errors.Is(err, agent.ErrSuspended) {
			t.Fatal(err)
		}
		if !open {
			s.Close()
			s = a.Session("s")
		}
		defer s.Close()
		if err := errors.Join(s.SetModel(t.Context(), other), s.SetMode(t.Context(), permission.Default), s.SetCanUseTool(t.Context(), answer(permission.Allow()))); err != nil {
			t.Fatal(err)
		}
		for _, err := range s.Resume(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
		c := factOf[fact.Configured](eventsOf(t, s, agent.Input{Text: "again"}))
		if s.Result() == nil || c.Mode != permission.Default || c.Model != "other" {
			t.Errorf("open %v: the next prompt: %+v", open, c)
		}
		if len(other.Requests()) == 0 || len(small.Requests()) != 1 {
			t.Errorf("open %v: the prompt's model got %d requests, the one set later %d", open, len(small.Requests()), len(other.Requests()))
		}
	}
}

// During the prompt, the host's model replaces the prompt's. Other settings keep it.
func TestSettingsInPromptWithOptions(t *testing.T) {
	var s *agent.Session
	var calls int
	var refused error
	other, unpriced := modelNamed("other", uses("set"), uses("set"), uses("set"), say("other")), &llmtest.Model{ID: "unpriced"}
	set := tool.Func(tool.Spec{Name: "set", ReadOnly: true}, func(ctx context.Context, _ number) (string, error) {
		calls++
		switch calls {
		case 1:
			return "", s.SetThinking(ctx, llm.Thought{Effort: "low"})
		case 2:
			refused = s.SetModel(ctx, unpriced)
			return "", s.SetBudget(ctx, agent.Budget{})
		}
		return "", s.SetModel(ctx, other)
	})
	small := modelNamed("small", uses("set"), uses("set"), uses("set"), say("small"))
	a := &agent.Agent{Model: modelNamed("large", say("large")), Fallbacks: []llm.Model{small}, Tools: []tool.Tool{set, named("b")}, Loop: event.Loop{Off: true}}
	s = a.Session("")
	defer s.Close()
	events := eventsOf(t, s, agent.Input{Text: "go", Model: "small", Tools: []string{"set"}, Budget: agent.Budget{USD: 0.5}})
	if got := len(small.Requests()); got != 3 {
		t.Errorf("the prompt's model got %d requests, want 3", got)
	}
	if got := factOf[fact.BudgetChanged](events).Limits.USD; got != 0.5 {
		t.Errorf("without a budget of the session, the prompt has %v USD", got)
	}
	if !errors.Is(refused, agent.ErrConfig) {
		t.Errorf("a model without a price in a prompt with a budget: %v", refused)
	}
	if end := factOf[event.RunEnd](events); end.Text != "other" {
		t.Errorf("it ended with %q", end.Text)
	}
	if c := factOf[fact.Configured](eventsOf(t, s, agent.Input{Text: "again"})); c.Model != "other" || len(c.Tools) != 2 {
		t.Errorf("the next prompt: %+v", c)
	}
}

// Tools that appear during the prompt are bound as well.
func TestPromptToolsRefreshed(t *testing.T) {
	var s *agent.Session
	set := &growingSet{}
	grow := tool.Func(tool.Spec{Name: "grow", ReadOnly: true}, func(ctx context.Context, in number) (string, error) {
		set.grow(named("mcp__x__new"), named("mcp__y__new"))
		return "", nil
	})
	retool := tool.Func(tool.Spec{Name: "retool", ReadOnly: true}, func(ctx context.Context, in number) (string, error) {
		return "", s.SetTools(ctx, append(s.Agent().Tools, named("late")))
	})
	m := modelNamed("m", uses("grow"), uses("retool"), say("end"))
	a := &agent.Agent{Model: m, Tools: []tool.Tool{grow, retool, named("b")}, Toolsets: []tool.Set{set}}
	s = a.Session("")
	defer s.Close()
	eventsOf(t, s, agent.Input{Text: "go", Tools: []string{"grow", "retool", "mcp__x"}})
	for i, want := range []string{"grow retool", "grow retool mcp__x__new", "grow retool mcp__x__new"} {
		if got := toolNames(&m.Requests()[i].Request); got != want {
			t.Errorf("request %d has the tools %q, want %q", i, got, want)
		}
	}
	eventsOf(t, s, agent.Input{Text: "again"})
	if got := toolNames(&m.Requests()[3].Request); got != "grow retool b late mcp__x__new mcp__y__new" {
		t.Errorf("the next prompt has the tools %q", got)
	}
}

// growingSet is a tool set whose tools change.
type growingSet struct {
	version uint64
	tools   []tool.Tool
}

func (g *growingSet) grow(tools ...tool.Tool) { g.version, g.tools = g.version+1, tools }

func (g *growingSet) Tools(context.Context) ([]tool.Tool, error) { return g.tools, nil }

func (g *growingSet) Version() uint64 { return g.version }

// The budget of a prompt ends it. A compaction that is asked for afterwards is free of the
// options of the prompt before.
func TestPromptBudgetAndCompaction(t *testing.T) {
	small := modelNamed("small", uses("a"), uses("a"), uses("a"), say("end"))
	a := &agent.Agent{Model: modelNamed("large", say("large")), Fallbacks: []llm.Model{small}, Tools: []tool.Tool{named("a")}, Permissions: permission.Policy{Mode: permission.AcceptEdits}}
	s := a.Session("")
	defer s.Close()
	if _, err := s.Do(t.Context(), agent.Input{Text: "go", Model: "small", Budget: agent.Budget{ModelCalls: 2}}); err == nil {
		t.Error("the budget of the prompt has no effect")
	}
	if got := len(small.Requests()); got != 2 {
		t.Errorf("%d requests were made, want 2", got)
	}
	eventsOf(t, s, agent.Input{Text: "plan", Mode: permission.Plan})
	var facts []event.Event
	for e, err := range s.StreamInput(t.Context(), agent.Input{Text: "all of it", Compact: true}) {
		if err == nil {
			facts = append(facts, e)
		}
	}
	if c := factOf[fact.Configured](facts); c.Mode != permission.AcceptEdits || c.Model != "large" || c.Prompt != nil {
		t.Errorf("a compaction after the prompt: %+v", c)
	}
}

// The window of the prompt's model decides when the conversation is compacted, and this
// model writes the summary. The next prompt has the agent's model again.
func TestPromptModelCompacts(t *testing.T) {
	store := session.Memory()
	large := narrow(t, 200_000, func(r *llmtest.Request, n int) llmtest.Step {
		if n < 4 {
			return llmtest.Call(llmtest.Use(fmt.Sprint("u", n), "groaning", number{15_000 + n}))
		}
		return say("large")
	})
	large.ID = "large"
	small := narrow(t, 12_000, func(r *llmtest.Request, n int) llmtest.Step {
		if wantsSummary(&r.Request) {
			return say("<summary>In short.</summary>")
		}
		return say("small")
	})
	small.ID = "small"
	a := &agent.Agent{Model: large, Fallbacks: []llm.Model{small}, Sessions: store, Tools: []tool.Tool{groaning}, Permissions: bypass, MaxTokens: 2000}
	s := a.Session("s")
	defer s.Close()
	for _, c := range []struct{ model, want string }{{"", "large"}, {"small", "small"}, {"", "large"}} {
		if res, err := s.Do(t.Context(), agent.Input{Text: "go", Model: c.model}); err != nil || res.Text != c.want {
			t.Fatalf("with the model %q: %v, %v", c.model, res, err)
		}
	}
	all := compactions(t, store, "s")
	if len(all) != 1 || all[0].Model != "small" || all[0].Failed != "" {
		t.Errorf("%+v", all)
	}
	checkPrefixes(t, history(t, store, "s"))
}

// A quota counts the calls of the prompt's model.
func TestPromptModelIsMetered(t *testing.T) {
	small := modelNamed("small", say("small"))
	var metered []string
	a := &agent.Agent{Model: modelNamed("large", say("large")), Fallbacks: []llm.Model{small}, Quota: meters(func(m llm.Model) { metered = append(metered, m.Name()) })}
	if _, err := a.Do(t.Context(), agent.Input{Text: "go", Model: "small"}); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(metered, "small") {
		t.Errorf("the models %q were metered", metered)
	}
}

// meters is a Quota that tells which models are metered.
type meters func(llm.Model)

func (q meters) Meter(m llm.Model) llm.Model { q(m); return m }

// The model of a prompt counts, not that of the skill in the prompt.
func TestPromptModelAndSkill(t *testing.T) {
	small, skilled := modelNamed("small", say("small")), modelNamed("skilled", say("skilled"))
	for want, in := range map[string]agent.Input{
		"skilled": {},
		"small":   {Model: "small"},
	} {
		in.Expansion = &tool.Expansion{Text: "do it", Scope: &skillscope.Scope{Skill: "s", Model: "skilled"}}
		in.Text = "/s"
		a := &agent.Agent{Model: modelNamed("large", say("large")), Fallbacks: []llm.Model{small, skilled}}
		res, err := a.Do(t.Context(), in)
		if err != nil || res.Text != want || in.Expansion.Scope.Model != "skilled" {
			t.Errorf("%+v, %v, want %s", res, err, want)
		}
	}
}

// A task has options like a prompt, within what its parent may do.
func TestTaskOptions(t *testing.T) {
	worker := modelNamed("worker", uses("a", "b"), say("done"))
	for name, c := range map[string]struct {
		in   agent.Input
		want string // in the error
	}{
		"tools":  {in: agent.Input{Tools: []string{"a"}}},
		"looser": {in: agent.Input{Mode: permission.Bypass}, want: "permits more"},
		"tool":   {in: agent.Input{Tools: []string{"aa"}}, want: "did you mean a?"},
	} {
		t.Run(name, func(t *testing.T) {
			var failed error
			helper := &agent.Agent{Name: "helper", Model: worker}
			task := tool.New(tool.Spec{Name: "task"}, func(ctx context.Context, call tool.Call, _ number) (*tool.Result, error) {
				p, _ := agent.ParentOf(ctx)
				in := c.in
				in.Text = "go"
				_, failed = p.Run(ctx, agent.Child{Agent: helper, Call: call.ID, Input: in})
				return tool.Text("ended"), nil
			}).OnClassify(func(tool.Call, number) tool.Traits { return tool.Traits{RunsSubagents: true} })
			a := &agent.Agent{Model: llmtest.Script(uses("task"), say("end")), Tools: []tool.Tool{task, named("a"), named("b")}}
			if _, err := a.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			if c.want == "" && (failed != nil || toolNames(&worker.Requests()[0].Request) != "a") || c.want != "" && !strings.Contains(fmt.Sprint(failed), c.want) {
				t.Errorf("%v, want %q", failed, cmp.Or(c.want, "no error"))
			}
		})
	}
}
