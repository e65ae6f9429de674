package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// during makes a tool that changes the session while a run of it goes on.
func during(change func(ctx context.Context, n int) error) tool.Tool {
	return tool.New(tool.Spec{Name: "change", ReadOnly: true}, func(ctx context.Context, _ tool.Call, in number) (*tool.Result, error) {
		if err := change(ctx, in.N); err != nil {
			return nil, err
		}
		return tool.Text("changed"), nil
	})
}

func named(name string) tool.Tool {
	return tool.Func(tool.Spec{Name: name, ReadOnly: true}, func(context.Context, number) (string, error) { return name, nil })
}

func toolNames(req *llm.Request) string {
	var names []string
	for _, t := range req.Tools {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

// lastResults are the texts of a request's last message.
func lastResults(req *llm.Request) string {
	var out []string
	for _, b := range req.Messages[len(req.Messages)-1].Content {
		if r, ok := b.(llm.ToolResult); ok {
			out = append(out, r.Content.Text())
		}
	}
	return strings.Join(out, "|")
}

// A tool that is removed before the first prompt is still known: rules may name it.
func TestSetToolsBeforeTheFirstPrompt(t *testing.T) {
	a := &agent.Agent{Model: llmtest.Script(say("ok")), Sessions: session.Memory(), Tools: []tool.Tool{named("kept"), named("old")},
		Permissions: permission.Policy{Deny: []permission.Rule{"old(x)"}}}
	s := a.Session("s")
	defer s.Close()
	if err := s.SetTools(t.Context(), a.Tools[:1]); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Error(err)
	}
	if len(a.Permissions.KnownTools) > 0 {
		t.Error("the Agent was changed")
	}
}

func TestSetTools(t *testing.T) {
	var s *agent.Session
	steps := 0
	change := during(func(ctx context.Context, _ int) error {
		steps++
		switch steps {
		case 1:
			return s.SetTools(ctx, []tool.Tool{named("new"), named("hidden"), named("kept")}) // change itself is gone, and its call goes on
		}
		return nil
	})
	m := llmtest.Script(uses("change", "old"), uses("old", "change", "new", "hidden", "kept"), say("a"), say("b"), say("c"))
	store := session.Memory()
	a := &agent.Agent{Model: m, Sessions: store, Tools: []tool.Tool{named("old"), named("kept"), change}, DisallowedTools: []string{"hidden"},
		Permissions: permission.Policy{Deny: []permission.Rule{"kept(*)"}, KnownTools: []string{"hidden"}}}
	s = a.Session("s")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	reqs := m.Requests()
	if got := []string{toolNames(&reqs[0].Request), toolNames(&reqs[1].Request), lastResults(&reqs[1].Request)}; !slices.Equal(got, []string{"old kept change", "kept new", "changed|old"}) {
		t.Errorf("%q", got)
	}
	if got := lastResults(&reqs[2].Request); !strings.Contains(got, "There is no tool") && strings.Count(got, "old") > 1 || !strings.Contains(got, "new|") {
		t.Errorf("calls afterwards: %q", got)
	}
	if err := s.SetTools(t.Context(), []tool.Tool{named("last")}); err != nil {
		t.Fatal(err)
	}
	s.Prompt(t.Context(), "more")
	if err := s.SetTools(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	s.Prompt(t.Context(), "and more")
	reqs = m.Requests()
	if toolNames(&reqs[3].Request) != "last" || toolNames(&reqs[4].Request) != "" {
		t.Errorf("at rest: %q, %q", toolNames(&reqs[3].Request), toolNames(&reqs[4].Request))
	}
	for _, bad := range [][]tool.Tool{{nil}, {misnamed{named("x")}}} {
		if err := s.SetTools(t.Context(), bad); !errors.Is(err, agent.ErrConfig) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if a.Tools[0].Spec().Name != "old" {
		t.Error("the Agent was changed")
	}
	changed := 0
	for _, e := range history(t, store, "s") {
		if f, ok := e.Data.(fact.ToolsChanged); ok && len(f.Tools) == 2 {
			changed++
		}
	}
	if changed != 1 {
		t.Errorf("%d facts", changed)
	}
}

// ender notes the end of the session.
type ender struct {
	tool.Tool
	ended *[]string
}

func (e ender) EndSession(string) error { *e.ended = append(*e.ended, e.Spec().Name); return nil }

func TestToolsThatWereTakenAwayEndWithTheSession(t *testing.T) {
	var ended []string
	a := &agent.Agent{Model: llmtest.Script(say("a")), Tools: []tool.Tool{ender{named("one"), &ended}, ender{named("two"), &ended}}}
	s := a.Session("")
	s.Prompt(t.Context(), "go")
	s.SetTools(t.Context(), []tool.Tool{a.Tools[0]})
	s.SetTools(t.Context(), nil)
	s.Close()
	slices.Sort(ended)
	if got := slices.Compact(ended); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("%q", got)
	}
}

func TestSetFallback(t *testing.T) {
	down := llmtest.Fail(&llm.APIError{Class: llm.Overloaded, RetryAfter: -1})
	spare := func(id string, step llmtest.Step) *llmtest.Model {
		return &llmtest.Model{ID: id, Rule: func(*llmtest.Request, int) llmtest.Step { return step }, Facts: llm.Info{Window: 7000, Price: &llm.Price{Input: 1, Output: 1}}}
	}
	one, two := spare("one", down), spare("two", say("from two"))
	var s *agent.Session
	change := during(func(ctx context.Context, _ int) error { return s.SetFallback(ctx, one, two) })
	m := llmtest.Script(uses("change"), down, down, down)
	a := &agent.Agent{Model: m, Tools: []tool.Tool{change}, Retry: &agent.Retry{Tries: -1}, Fallbacks: []llm.Model{spare("zero", say("from zero"))}}
	s = a.Session("")
	defer s.Close()
	res, err := s.Prompt(t.Context(), "go")
	if err != nil || res.Text != "from two" || res.Models["two"].CostUSD == nil || len(one.Requests()) != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	if err := s.SetFallback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prompt(t.Context(), "more"); !errors.Is(err, agent.ErrModel) {
		t.Errorf("without any: %v", err)
	}
	if err := s.SetFallback(t.Context(), nil); !errors.Is(err, agent.ErrConfig) {
		t.Errorf("nil: %v", err)
	}
	if err := s.SetBudget(t.Context(), agent.Budget{}); err != nil {
		t.Error(err)
	}
}

func TestSetBudget(t *testing.T) {
	var s *agent.Session
	var b agent.Budget
	change := during(func(ctx context.Context, _ int) error { return s.SetBudget(ctx, b) })
	model := func() *llmtest.Model {
		return &llmtest.Model{Rule: func(_ *llmtest.Request, n int) llmtest.Step {
			if n < 5 {
				return llmtest.Call(llmtest.Use("", "change", number{n}))
			}
			return say("done")
		}, Facts: priced}
	}
	for _, tt := range []struct {
		name          string
		before, after agent.Budget
		want          event.EndReason
	}{
		{"fewer turns", agent.Budget{}, agent.Budget{Turns: 2}, event.MaxTurns},
		{"turns that are used up", agent.Budget{}, agent.Budget{Turns: 1}, event.MaxTurns},
		{"more turns", agent.Budget{Turns: 2}, agent.Budget{Turns: 9}, event.Completed},
		{"none any more", agent.Budget{Turns: 2, USD: 1}, agent.Budget{}, event.Completed},
		{"model calls", agent.Budget{}, agent.Budget{ModelCalls: 3}, event.MaxModelCalls},
		{"money", agent.Budget{}, agent.Budget{USD: 0.00001}, event.MaxBudget},
		{"time", agent.Budget{Time: time.Hour}, agent.Budget{Time: 1}, event.TimedOut},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := session.Memory()
			a := &agent.Agent{Model: model(), Sessions: store, Tools: []tool.Tool{change}, Budget: tt.before}
			s, b = a.Session("s"), tt.after
			defer s.Close()
			if res, _ := s.Prompt(t.Context(), "go"); res.Reason != tt.want {
				t.Errorf("%s: %s", res.Reason, res.Message)
			}
			if a.Budget != tt.before {
				t.Error("the Agent was changed")
			}
			kept := false
			for _, e := range history(t, store, "s") {
				f, ok := e.Data.(fact.BudgetChanged)
				kept = kept || ok && f.Limits.Turns == tt.after.Turns && f.Limits.USD == tt.after.USD
			}
			if !kept {
				t.Error("it is not on record")
			}
		})
	}
	unknown := &agent.Agent{Model: &llmtest.Model{ID: "unknown", Steps: []llmtest.Step{say("a")}}}
	s = unknown.Session("")
	defer s.Close()
	for _, bad := range []agent.Budget{{USD: 1}, {Turns: -1}, {USD: -1}, {Time: -1}, {ModelCalls: -2}} {
		if err := s.SetBudget(t.Context(), bad); !errors.Is(err, agent.ErrConfig) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if err := s.SetModel(t.Context(), model()); err != nil {
		t.Fatal(err)
	}
	if err := s.SetBudget(t.Context(), agent.Budget{USD: 1}); err != nil {
		t.Error(err)
	}
	if err := s.SetModel(t.Context(), unknown.Model); !errors.Is(err, agent.ErrConfig) {
		t.Errorf("a model without a price under a budget: %v", err)
	}
	if err := s.SetFallback(t.Context(), unknown.Model); !errors.Is(err, agent.ErrConfig) {
		t.Errorf("a fallback without a price under a budget: %v", err)
	}
}

// A budget set while a run waits holds in the program that resumes it.
func TestBudgetOfResumedRun(t *testing.T) {
	store := session.Memory()
	model := func() llm.Model {
		return &llmtest.Model{Rule: func(_ *llmtest.Request, n int) llmtest.Step { return llmtest.Call(llmtest.Use("", "write", number{n})) }}
	}
	later := func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
		return permission.Defer(), nil
	}
	a := &agent.Agent{Model: model(), Sessions: store, Tools: []tool.Tool{fine}, CanUseTool: later, Hooks: nil}
	s := a.Session("s")
	for _, err := range s.Stream(t.Context(), "go") {
		if err != nil && !errors.Is(err, agent.ErrSuspended) {
			t.Fatal(err)
		}
	}
	s.SetBudget(t.Context(), agent.Budget{Turns: 3})
	for e, err := range s.Resume(t.Context()) {
		if err != nil && !errors.Is(err, agent.ErrSuspended) {
			t.Fatal(err)
		}
		if _, ok := e.Data.(fact.BudgetChanged); ok {
			break // the program dies
		}
	}
	s.Close()
	another := &agent.Agent{Model: model(), Sessions: store, Tools: []tool.Tool{fine}, Permissions: bypass}
	s = another.Session("s")
	defer s.Close()
	open, err := s.CanResume(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !open {
		t.Skip("the run was interrupted")
	}
	s.SetMode(t.Context(), permission.Bypass)
	for _, err := range s.Resume(t.Context()) {
		if err != nil && !errors.Is(err, agent.ErrLimit) {
			t.Fatal(err)
		}
	}
	if r := s.Result(); r.Reason != event.MaxTurns || r.Turns != 3 {
		t.Errorf("%s after %d turns", r.Reason, r.Turns)
	}
}

func TestChangePermissions(t *testing.T) {
	var s *agent.Session
	deny := hook.Update{Type: "addRules", Behavior: permission.Denied, Rules: []permission.Rule{"write"}}
	change := during(func(ctx context.Context, n int) error { return s.ChangePermissions(ctx, deny) })
	m := llmtest.Script(uses("write"), llmtest.Call(llmtest.Use("", "change", number{0})), uses("write"), say("done"), uses("write"), say("done"), uses("write"), say("done"))
	a := &agent.Agent{Model: m, Sessions: session.Memory(), Tools: []tool.Tool{fine, change}, Permissions: bypass}
	s = a.Session("s")
	defer func() { s.Close() }()
	denials := func(want int) {
		t.Helper()
		res, err := s.Prompt(t.Context(), "go")
		if err != nil || len(res.Denials) != want {
			t.Errorf("%d denials, %d expected: %v", len(res.Denials), want, err)
		}
	}
	denials(1)
	s.Close()
	s = a.Session("s") // opened again
	denials(1)
	for _, bad := range []hook.Update{{Type: "setMode", Mode: permission.Bypass}, {Type: "addDirectories"}, {Type: "addRules", Behavior: permission.Denied, Rules: []permission.Rule{"write("}}} {
		if err := s.ChangePermissions(t.Context(), bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	deny.Type = "removeRules"
	if err := s.ChangePermissions(t.Context(), deny); err != nil {
		t.Fatal(err)
	}
	denials(0)
}

func TestSetCanUseTool(t *testing.T) {
	var s *agent.Session
	var asked []string
	ask := func(who string, d permission.Decision) agent.CanUseToolFunc {
		return func(_ context.Context, c tool.Call, _ permission.Decision) (permission.Decision, error) {
			if c.Name != "write" {
				return permission.Decision{}, nil
			}
			asked = append(asked, who)
			return d, nil
		}
	}
	change := during(func(ctx context.Context, n int) error {
		if n == 1 {
			return s.SetCanUseTool(ctx, nil)
		}
		if err := s.SetCanUseTool(ctx, ask("b", permission.Deny("b says no"))); err != nil {
			return err
		}
		return s.SetMode(ctx, permission.AcceptEdits)
	})
	m := llmtest.Script(uses("write"), llmtest.Call(llmtest.Use("", "change", number{0})), uses("write"), llmtest.Call(llmtest.Use("", "change", number{1})), uses("write"), say("done"), say("again"))
	store := session.Memory()
	a := &agent.Agent{Model: m, Sessions: store, Tools: []tool.Tool{fine, change}, CanUseTool: ask("a", permission.Allow())}
	s = a.Session("s")
	defer s.Close()
	res, err := s.Prompt(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	var denied []string
	for _, d := range res.Denials {
		denied = append(denied, d.Reason)
	}
	if got := strings.Join(asked, ""); !strings.HasPrefix(got, "a") || !strings.HasSuffix(got, "b") || len(denied) != 2 || denied[0] != "b says no" || !res.Denials[1].Nobody {
		t.Errorf("asked %q; denied %q", asked, denied)
	}
	s.SetCanUseTool(t.Context(), ask("c", permission.Allow()))
	s.Prompt(t.Context(), "more")
	var facts []bool
	for _, e := range history(t, store, "s") {
		if f, ok := e.Data.(fact.CallbackChanged); ok {
			facts = append(facts, f.Set)
		}
	}
	if !slices.Equal(facts, []bool{true, false, true}) {
		t.Errorf("the facts are %v", facts)
	}
}

func TestSetThinking(t *testing.T) {
	var s *agent.Session
	change := during(func(ctx context.Context, _ int) error { return s.SetThinking(ctx, llm.Thought{Budget: 30_000}) })
	m := llmtest.Script(uses("change"), say("a"), say("b"), say("c"))
	s = (&agent.Agent{Model: m, Tools: []tool.Tool{change}}).Session("")
	defer s.Close()
	s.Prompt(t.Context(), "go")
	for _, bad := range []llm.Thought{{Budget: -1}, {Effort: "extreme"}, {Mode: "some"}, {Mode: llm.ThinkOff, Budget: 1}} {
		if err := s.SetThinking(t.Context(), bad); !errors.Is(err, agent.ErrConfig) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	s.SetThinking(t.Context(), llm.Thought{Effort: "high"})
	s.Prompt(t.Context(), "more")
	s.SetThinking(t.Context(), llm.Thought{Mode: llm.ThinkOff})
	s.Prompt(t.Context(), "and more")
	for i, want := range []llm.Thought{{}, {Budget: 30_000}, {Effort: "high"}, {Mode: llm.ThinkOff}} {
		if r := m.Requests()[i]; r.Thinking != want || r.MaxTokens != 16_384+want.Tokens() {
			t.Errorf("request %d: %+v, %d tokens; want %+v", i, r.Thinking, r.MaxTokens, want)
		}
	}
}

// A thinking budget that counts as output leaves room for the answer.
func TestSetThinkingAboveMaxTokens(t *testing.T) {
	for inside, want := range map[bool][]int{true: {1000, 6000, 1000}, false: {1000, 1000, 1000}} {
		m := llmtest.Script(say("a"), say("b"), say("c"))
		m.Facts.ThinksInside = inside
		s := (&agent.Agent{Model: m, MaxTokens: 1000}).Session("")
		defer s.Close()
		s.Prompt(t.Context(), "go")
		s.SetThinking(t.Context(), llm.Thought{Budget: 5000})
		s.Prompt(t.Context(), "more")
		s.SetThinking(t.Context(), llm.Thought{Mode: llm.ThinkOff})
		s.Prompt(t.Context(), "and more")
		for i, r := range m.Requests() {
			if r.MaxTokens != want[i] {
				t.Errorf("%v: request %d has %d tokens, want %d", inside, i, r.MaxTokens, want[i])
			}
		}
	}
}

// Of tools that replace each other a run has those that suit its model, also after a
// change of it.
func TestSetModelChangesTools(t *testing.T) {
	patcher := tool.Func(tool.Spec{Name: "patch", Replaces: []string{"replace"}}, func(context.Context, number) (string, error) { return "", nil })
	var s *agent.Session
	other := llmtest.Script(uses("change"), say("done"))
	other.ID, other.Facts.Patches = "other", true
	first := llmtest.Script(uses("change"), say("back"))
	change := during(func(ctx context.Context, _ int) error {
		if s.Agent().Model == llm.Model(first) {
			return s.SetModel(ctx, other)
		}
		return s.SetModel(ctx, first)
	})
	s = (&agent.Agent{Model: first, Tools: []tool.Tool{named("replace"), patcher, change}}).Session("")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, r := range []*llm.Request{&first.Requests()[0].Request, &other.Requests()[0].Request, &first.Requests()[1].Request} {
		var names []string
		for _, spec := range r.Tools {
			names = append(names, spec.Name)
		}
		slices.Sort(names)
		seen = append(seen, strings.Join(names, " "))
	}
	if want := []string{"change replace", "change patch", "change replace"}; !slices.Equal(seen, want) {
		t.Errorf("the models saw %q, want %q", seen, want)
	}
}

// A gate is a tool whose Spec waits, once it is armed.
type gate struct {
	tool.Tool
	armed            *atomic.Bool
	reached, release chan struct{}
}

func (g gate) Spec() tool.Spec {
	if g.armed.CompareAndSwap(true, false) {
		close(g.reached)
		<-g.release
	}
	return g.Tool.Spec()
}

// The model is not asked before its tools are put together, whatever else happens.
func TestModelWaitsForItsTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		patcher := tool.Func(tool.Spec{Name: "patch", Replaces: []string{"replace"}}, func(context.Context, number) (string, error) { return "", nil })
		g := gate{named("gate"), new(atomic.Bool), make(chan struct{}), make(chan struct{})}
		other := llmtest.Script(say("done"))
		other.ID, other.Facts.Patches = "other", true
		var s *agent.Session
		change := during(func(ctx context.Context, _ int) error {
			defer g.armed.Store(true)
			return s.SetModel(ctx, other)
		})
		s = (&agent.Agent{Model: llmtest.Script(uses("change")), Tools: []tool.Tool{named("replace"), patcher, change, g}}).Session("")
		defer s.Close()
		go func() {
			<-g.reached
			if _, err := s.Steer(t.Context(), agent.Input{Text: "and quickly"}); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			close(g.release)
		}()
		if _, err := s.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		if got, want := toolsSeen(&other.Requests()[0].Request), "change gate patch"; got != want {
			t.Errorf("the model saw %q, want %q", got, want)
		}
	})
}

// A model may take the place of another one of its name.
func TestSetModelOfTheSameName(t *testing.T) {
	var s *agent.Session
	first, second := llmtest.Script(uses("change")), llmtest.Script(say("from the second"))
	s = (&agent.Agent{Model: first, Tools: []tool.Tool{during(func(ctx context.Context, _ int) error { return s.SetModel(ctx, second) })}}).Session("")
	defer s.Close()
	if r, err := s.Prompt(t.Context(), "go"); err != nil || r.Text != "from the second" {
		t.Fatalf("%+v, %v", r, err)
	}
}

// toolsSeen are the names of the tools in a request, in order.
func toolsSeen(r *llm.Request) string {
	var names []string
	for _, spec := range r.Tools {
		names = append(names, spec.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// A fallback has the tools that suit it for as long as the run stays with it; the model
// that a skill wants has those of the run.
func TestFallbackChangesTools(t *testing.T) {
	patcher := tool.Func(tool.Spec{Name: "patch", Replaces: []string{"replace"}}, func(context.Context, number) (string, error) { return "", nil })
	spare := llmtest.Script(uses("touch"), say("from spare"), say("as a skill"))
	spare.ID, spare.Facts.Patches = "spare", true
	first := llmtest.Script(llmtest.Step{Err: &llm.APIError{Class: llmconst.NotFound, Status: 404}}, say("mine again"), say("and again"))
	touch := during(func(context.Context, int) error { return nil })
	a := &agent.Agent{Model: first, Fallbacks: []llm.Model{spare}, Tools: []tool.Tool{named("replace"), patcher, touch}}
	s := a.Session("")
	defer s.Close()
	for range 2 {
		if _, err := s.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
	}
	var seen []string
	for _, r := range slices.Concat(first.Requests(), spare.Requests()) {
		seen = append(seen, toolsSeen(&r.Request))
	}
	own, other := strings.Replace(toolsSeen(&first.Requests()[0].Request), "patch", "replace", 1), toolsSeen(&spare.Requests()[0].Request)
	if !strings.Contains(other, "patch") || strings.Contains(other, "replace") || !slices.Equal(seen, []string{own, own, other, other}) {
		t.Errorf("the models saw %q", seen)
	}

	// The beginning of the requests of a run goes on through a skill with another model.
	a = &agent.Agent{Model: first, Tools: a.Tools, Models: func(string) (llm.Model, error) { return spare, nil }}
	if _, err := a.Do(t.Context(), agent.Input{Expansion: &tool.Expansion{Kind: "slash_command", Name: "x", Text: "do it", Scope: &skillscope.Scope{Skill: "x", Model: "spare"}}}); err != nil {
		t.Fatal(err)
	}
	if all := spare.Requests(); len(all) != 3 || toolsSeen(&all[2].Request) != own {
		t.Errorf("with a skill %d requests, the last with %q", len(all), toolsSeen(&all[len(all)-1].Request))
	}
}

// What a budget leaves bounds the agents that are at work.
func TestSetBudgetBoundsAgentsAtWork(t *testing.T) {
	for name, tt := range map[string]struct {
		budget agent.Budget
		model  llm.Info
		most   int // turns of the helper
	}{
		"calls":   {agent.Budget{ModelCalls: 6}, priced, 4},
		"nothing": {agent.Budget{ModelCalls: 1}, priced, 1},
		"money":   {agent.Budget{USD: 0.0001}, priced, 3},
		"unknown": {agent.Budget{USD: 5}, llm.Info{}, 1},
		"more":    {agent.Budget{Turns: 100}, priced, 8},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s *agent.Session
				var failed error
				helper := &agent.Agent{Name: "helper", Tools: []tool.Tool{named("look")}, Model: &llmtest.Model{ID: "h", Facts: tt.model, Rule: func(_ *llmtest.Request, n int) llmtest.Step {
					time.Sleep(time.Second)
					if n == 0 {
						failed = s.SetBudget(t.Context(), tt.budget)
					}
					if n < 7 {
						return llmtest.Call(llmtest.Use("", "look", number{n}))
					}
					return say("done")
				}}}
				a := &agent.Agent{Permissions: bypass, Model: &llmtest.Model{Facts: priced, Rule: func(_ *llmtest.Request, n int) llmtest.Step {
					if n == 0 {
						return delegates(1)
					}
					return say("end")
				}}, Tools: []tool.Tool{delegate(helper, false), named("look")}}
				s = a.Session("")
				defer s.Close()
				res, _ := s.Prompt(t.Context(), "go")
				got := len(helper.Model.(*llmtest.Model).Requests())
				if failed != nil || got > tt.most || name == "more" && got != tt.most {
					t.Errorf("%d calls, at most %d: %v; %s %s", got, tt.most, failed, res.Reason, res.Message)
				}
			})
		})
	}
}

// Whatever is set by whom and when: each request is what the facts before it say.
func TestSettingsStorm(t *testing.T) {
	seed := uint64(1)
	if os.Getenv("CI") == "" {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	for round := range uint64(8) {
		var mu sync.Mutex
		var requests []llmtest.Request
		rnd := rand.New(rand.NewPCG(seed, round))
		rule := func(r *llmtest.Request, _ int) llmtest.Step {
			mu.Lock()
			defer mu.Unlock()
			requests = append(requests, *r)
			n := rnd.IntN(12)
			time.Sleep(time.Duration(rnd.IntN(200)) * time.Microsecond)
			switch {
			case n < 7 && len(r.Tools) > 0:
				return uses(r.Tools[rnd.IntN(len(r.Tools))].Name, "gone")
			case n < 9:
				return llmtest.Fail(&llm.APIError{Class: llm.Overloaded, RetryAfter: -1})
			}
			return say("done")
		}
		model := func(i int) llm.Model { return &llmtest.Model{ID: fmt.Sprint("m", i), Rule: rule, Facts: priced} }
		models := []llm.Model{model(0), model(1), model(2), model(3)}
		pool := []tool.Tool{named("a"), named("b"), named("c"), named("d"), double}
		set := &changing{lists: [][]tool.Tool{{plain("x")}, {plain("y")}, {plain("x"), plain("y")}}}
		a := &agent.Agent{Model: models[0], Fallbacks: models[1:2], Tools: pool[:2], Toolsets: []tool.Set{set}, Permissions: bypass, Retry: &agent.Retry{Tries: -1}, Budget: agent.Budget{Turns: 30}}
		s := a.Session("")
		ctx, stop := context.WithCancel(t.Context())
		pick := func(rnd *rand.Rand) []llm.Model { return models[rnd.IntN(4):][:1] }
		acts := []func(*rand.Rand) error{
			func(rnd *rand.Rand) error { return s.SetModel(ctx, pick(rnd)[0]) },
			func(rnd *rand.Rand) error { return s.SetFallback(ctx, pick(rnd)...) },
			func(rnd *rand.Rand) error { return s.SetThinking(ctx, llm.Thought{Budget: rnd.IntN(9000)}) },
			func(rnd *rand.Rand) error {
				return s.SetThinking(ctx, llm.Thought{Effort: []string{"low", "high"}[rnd.IntN(2)]})
			},
			func(rnd *rand.Rand) error {
				return s.SetBudget(ctx, agent.Budget{Turns: 5 + rnd.IntN(30), USD: float64(rnd.IntN(3))})
			},
			func(rnd *rand.Rand) error { return s.SetTools(ctx, pool[rnd.IntN(3):][:rnd.IntN(3)]) },
			func(*rand.Rand) error { return s.SetTools(ctx, pool) },
			func(*rand.Rand) error { return s.SetCanUseTool(ctx, nil) },
			func(*rand.Rand) error { return s.SetMode(ctx, permission.Bypass) },
			func(rnd *rand.Rand) error { set.version.Store(uint64(rnd.IntN(3))); return nil },
		}
		var group sync.WaitGroup
		for i, act := range acts {
			rnd := rand.New(rand.NewPCG(seed+1+round, uint64(i)))
			group.Go(func() {
				for ctx.Err() == nil {
					if err := act(rnd); err != nil && ctx.Err() == nil {
						t.Errorf("act %d: %v", i, err)
					}
					time.Sleep(time.Duration(rnd.IntN(400)) * time.Microsecond)
				}
			})
		}
		type config struct {
			model, fallbacks string
			thinking         llm.Thought
			most             int
			tools            string
		}
		var now config
		var want []string
		list := func(ts []fact.Tool) string {
			var names []string
			for _, t := range ts {
				if !t.Deferred {
					names = append(names, t.Name)
				}
			}
			return strings.Join(names, " ")
		}
		for n := range 6 {
			for e, err := range s.Stream(t.Context(), fmt.Sprint("prompt ", n)) {
				if err != nil && !errors.Is(err, agent.ErrModel) && !errors.Is(err, agent.ErrLimit) {
					t.Errorf("round %d: %v", round, err)
				}
				switch f := e.Data.(type) {
				case fact.Configured:
					now = config{f.Model, strings.Join(f.Fallbacks, " "), f.Thinking, f.MaxTokens, list(f.Tools)}
				case event.ModelChanged:
					now.model, now.thinking, now.most = f.Model, f.Thinking, f.MaxTokens
				case fact.FallbacksChanged:
					now.fallbacks = strings.Join(f.Fallbacks, " ")
				case fact.ToolsChanged:
					now.tools = list(f.Tools)
				case fact.ModelStart:
					if f.Model != now.model && !strings.Contains(now.fallbacks, f.Model) {
						t.Errorf("round %d: %s is called, which is neither %s nor one of %q", round, f.Model, now.model, now.fallbacks)
					}
					if f.MaxTokens > now.most {
						t.Errorf("round %d: %d tokens, want at most %d", round, f.MaxTokens, now.most)
					}
					want = append(want, fmt.Sprintf("%s %+v %d [%s]", f.Model, now.thinking, f.MaxTokens, now.tools))
				}
			}
		}
		stop()
		group.Wait()
		s.Close()
		mu.Lock()
		var got []string
		for _, r := range requests {
			got = append(got, fmt.Sprintf("%s %+v %d [%s]", r.Model, r.Thinking, r.MaxTokens, toolNames(&r.Request)))
		}
		mu.Unlock()
		if !reflect.DeepEqual(got, want) {
			for i := range max(len(got), len(want)) {
				if i >= len(got) || i >= len(want) || got[i] != want[i] {
					t.Fatalf("round %d: of %d and %d, request %d is %s; the facts say %s", round, len(got), len(want), i, got[min(i, len(got)-1)], want[min(i, len(want)-1)])
				}
			}
		}
	}
}

type misnamed struct{ tool.Tool }

func (misnamed) Spec() tool.Spec { return tool.Spec{Name: "no good name!"} }
