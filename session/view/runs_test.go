package view_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// helperTool starts an agent for each call.
func helperTool(kind *agent.Agent, background bool) tool.Tool {
	return tool.New(tool.Spec{Name: "Helper", Timeout: -1}, func(ctx context.Context, call tool.Call, in struct{ Task string }) (*tool.Result, error) {
		p, ok := agent.ParentOf(ctx)
		if !ok {
			return nil, errors.New("no parent")
		}
		c := agent.Child{Agent: kind, Call: call.ID, Input: agent.Input{Text: in.Task}}
		if background {
			id, err := p.Start(ctx, c, nil)
			return tool.Text("started " + id), err
		}
		r, err := p.Run(ctx, c)
		if r == nil {
			return nil, err
		}
		return tool.Text(r.Text), nil
	}).OnClassify(func(tool.Call, struct{ Task string }) tool.Traits { return tool.Traits{RunsSubagents: true} })
}

// Agents run in many ways. Their stream gives the same items as their journal, and so does what
// somebody gets who begins to watch at any event.
func TestStreamsOfRuns(t *testing.T) {
	list := tool.Func(tool.Spec{Name: "List", Description: "Lists."}, func(ctx context.Context, in struct{ Dir string }) (string, error) {
		tool.Progress(ctx, tool.Status{Text: "reading", Tail: []string{"a", "reading"}})
		return "a\nb", nil
	})
	use := llmtest.Use
	dir := map[string]string{"Dir": "x"}
	ask := func(_ context.Context, _ tool.Call, qs []tool.Question) ([]tool.Answer, error) {
		return make([]tool.Answer, len(qs)), nil
	}
	yes := func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
		return permission.Decision{Behavior: permission.Allowed, Source: "person", By: "ann"}, nil
	}
	slow := func(s llmtest.Step) llmtest.Step {
		s.EventDelay, s.Pieces = 10*time.Millisecond, 20
		return s
	}
	question := use("q", "AskUser", map[string]any{"questions": []any{map[string]any{"question": "Which?", "header": "Way", "options": []any{map[string]any{"label": "a", "description": "1"}, map[string]any{"label": "b", "description": "2"}}}}})
	for name, run := range map[string]struct {
		steps []llmtest.Step
		agent agent.Agent
		on    func(t *testing.T, s *agent.Session, e event.Event) // at each event of the stream
		want  string                                              // of the view's items
	}{
		"calls": {
			steps: []llmtest.Step{{Thinking: "hm", Text: "I look.", Calls: []llm.ToolUse{use("1", "List", dir), use("2", "List", dir)}}, {Text: "Two."}},
			agent: agent.Agent{CanUseTool: yes}, want: "Prompt Answer Call Call Answer End",
		},
		"denied": {
			steps: []llmtest.Step{llmtest.Call(use("1", "List", dir)), {Text: "Well."}},
			want:  "Prompt Answer Call Answer End",
		},
		"retried": {
			steps: []llmtest.Step{{Text: "I begin but the connection", Cut: "error", CutAfter: 3}, {Text: "Again, whole."}},
			agent: agent.Agent{Retry: &agent.Retry{Base: 5 * time.Second, Tries: 2}}, want: "Prompt Answer Answer End",
		},
		"steered": {
			steps: []llmtest.Step{slow(llmtest.Step{Text: "I look.", Calls: []llm.ToolUse{use("1", "List", dir)}}), {Text: "As you say."}, {Text: "More."}},
			agent: agent.Agent{CanUseTool: yes},
			on: func(t *testing.T, s *agent.Session, e event.Event) {
				if d, ok := e.Data.(event.TextDelta); ok && strings.HasPrefix("I look.", d.Text) {
					if _, err := s.Steer(t.Context(), agent.Input{ID: "s1", Text: "be quick"}); err != nil {
						t.Error(err)
					}
					if _, err := s.FollowUp(t.Context(), agent.Input{ID: "f1", Text: "and more"}); err != nil {
						t.Error(err)
					}
				}
			},
			want: "Prompt Answer Call Prompt Answer Prompt Answer End",
		},
		"interrupted": {
			steps: []llmtest.Step{slow(llmtest.Step{Text: "A long answer that nobody waits for."})},
			on: func(t *testing.T, s *agent.Session, e event.Event) {
				if _, ok := e.Data.(event.TextDelta); ok {
					_, _ = s.Steer(t.Context(), agent.Input{ID: "s1", Text: "not seen"})
					_, _ = s.Interrupt(t.Context())
				}
			},
			want: "Prompt Answer Prompt End",
		},
		"asked": {
			steps: []llmtest.Step{llmtest.Call(question), {Text: "Fine."}},
			agent: agent.Agent{AskUser: ask, Tools: []tool.Tool{tools.AskUser()}}, want: "Prompt Answer Call Answer End",
		},
		"batch": {
			steps: []llmtest.Step{llmtest.Call(use("1", "Batch", map[string]any{"tool_calls": []any{map[string]any{"tool": "List", "parameters": dir}, map[string]any{"tool": "Gone"}}})), {Text: "Done."}},
			agent: agent.Agent{CanUseTool: yes, Tools: []tool.Tool{tools.Batch()}}, want: "Prompt Answer Call Answer End",
		},
		"helped": {
			steps: []llmtest.Step{llmtest.Call(use("1", "Helper", map[string]string{"Task": "count"}), use("2", "Helper", map[string]string{"Task": "count"})), {Text: "Done."}},
			agent: agent.Agent{Tools: []tool.Tool{helperTool(&agent.Agent{Name: "counter", Model: llmtest.Script(llmtest.Say("four"), llmtest.Say("four"))}, false)}},
			want:  "Prompt Answer Call Call Answer End",
		},
		"helped in the background": {
			steps: []llmtest.Step{llmtest.Call(use("1", "Helper", map[string]string{"Task": "count"})), {Text: "Started.", Delay: time.Millisecond}},
			agent: agent.Agent{Tools: []tool.Tool{helperTool(&agent.Agent{Name: "counter", Model: llmtest.Script(slow(llmtest.Say("four and five and six")))}, true)}},
		},
		"cut off": {
			steps: []llmtest.Step{{Text: "One half", Stop: llm.MaxTokens}, {Text: " and the other."}},
			want:  "Prompt Answer Prompt Answer End",
		},
		"failed": {
			steps: []llmtest.Step{llmtest.Fail(&llm.APIError{Class: llm.Auth, Status: 401, Message: "no key"})},
			want:  "Prompt Answer End",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, store := run.agent, session.Memory()
				a.Model, a.Sessions = llmtest.Script(run.steps...), store
				a.Tools = append([]tool.Tool{list}, a.Tools...)
				s := a.Session("one")
				defer s.Close()
				live := new(view.State)
				var events []event.Event
				seen := versions{}
				for e, err := range s.Stream(t.Context(), "Go.") {
					if err != nil {
						var end *agent.EndError
						if !errors.As(err, &end) {
							t.Fatal(err)
						}
						continue
					}
					live.Apply(e)
					events = append(events, e)
					seen.check(t, live)
					if run.on != nil {
						run.on(t, s, e)
					}
				}
				time.Sleep(time.Hour) // agents in the background end
				journal := new(view.State)
				for e, err := range store.Read(t.Context(), "one", 0) {
					if err != nil {
						t.Fatal(err)
					}
					journal.Apply(e)
				}
				if run.want == "" {
					run.want = kinds(journal)
				} else if got, want := recorded(live), recorded(journal); got != want {
					t.Errorf("the stream gives\n%s\nthe journal\n%s", got, want)
				}
				if got := kinds(journal); got != run.want {
					t.Errorf("the items are %s, want %s\n%s", got, run.want, recorded(journal))
				}
				if live.Running || len(live.Questions) > 0 || len(live.Queue) > 0 {
					t.Errorf("after the run: running %v, %d questions, %d in the queue", live.Running, len(live.Questions), len(live.Queue))
				}
				for _, it := range live.Items {
					if !it.Final {
						t.Errorf("not final: %s", described(it))
					}
				}
				for _, it := range live.Agents {
					checkAgent(t, session.Under(store, "one"), it.Data.(*view.Agent))
				}
				lateJoiners(t, events)
			})
		})
	}
}

func kinds(s *view.State) string {
	var all []string
	for _, it := range s.Items {
		if it.Seq > 0 {
			all = append(all, strings.TrimPrefix(fmt.Sprintf("%T", it.Data), "*view."))
		}
	}
	return strings.Join(all, " ")
}

// checkAgent compares the view of an agent in a stream with that of its journal.
func checkAgent(t *testing.T, store session.Store, a *view.Agent) {
	t.Helper()
	journal := new(view.State)
	for e, err := range store.Read(t.Context(), a.Start.Session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		journal.Apply(e)
	}
	if kinds(journal) == "" || kinds(a.View) == "" && !a.Start.Background { // which may begin after the run

		t.Errorf("agent %s has no items", a.Start.Agent)
	}
	if a.End != nil && !a.Start.Background && recorded(a.View) != recorded(journal) {
		t.Errorf("the stream of the agent gives\n%s\nits journal\n%s", recorded(a.View), recorded(journal))
	}
}

// lateJoiners checks what those see in the end who get the facts of the past first, and from an
// event on all that comes.
func lateJoiners(t *testing.T, events []event.Event) {
	t.Helper()
	want := recorded(folded(events, true))
	for from := range events {
		late := new(view.State)
		for i, e := range events {
			if _, ok := e.Data.(event.Fact); ok || i >= from {
				late.Apply(e)
			}
		}
		if got := recorded(late); got != want {
			t.Fatalf("from event %d on:\n%s\nthe journal\n%s", from, got, want)
		}
	}
}

// An answer that begins again has all of its text, and a question that was settled elsewhere is
// gone.
func TestRestartAndSettled(t *testing.T) {
	var s view.State
	apply := func(d event.Data) { s.Apply(event.Event{Time: time.Unix(1, 0), Data: d}) }
	apply(event.TextDelta{Key: "m", Text: "lost"})
	apply(event.Missed{Signals: 2})
	apply(event.TextDelta{Key: "m", Text: "All of the text", Restart: true})
	apply(event.TextDelta{Key: "m", Text: " so far"})
	if got := s.Items[0].Data.(*view.Answer).Text(); got != "All of the text so far" {
		t.Errorf("text %q", got)
	}
	apply(event.PermissionRequest{Call: tool.Call{ID: "c7.0", Name: "Bash", Input: json.RawMessage(`{"command":"ls"}`)}, Suggestions: []permission.Rule{"Bash(ls)"}})
	if len(s.Questions) != 1 || s.Questions[0].Data.(*view.Question).Call.Data.(*view.Call).Phase != "asking" {
		t.Fatalf("questions %v", s.Questions)
	}
	item := s.Questions[0]
	s.Apply(event.Event{Seq: 9, Time: time.Unix(2, 0), Data: fact.Answered{Call: "c7.0", Decision: permission.Allow()}})
	apply(event.PermissionRequest{Call: tool.Call{ID: "c7.0", Name: "Bash"}}) // it comes late
	if len(s.Questions) != 0 || !item.Final {
		t.Errorf("the question is still open: %s", described(item))
	}
}

// A rewind takes items away, and one to a fact that an earlier rewind took away brings them back.
func TestRewound(t *testing.T) {
	var s view.State
	var seq int64
	apply := func(prev int64, d event.Data) int64 {
		seq++
		s.Apply(event.Event{Seq: seq, Prev: prev, Time: time.Unix(seq, 0), Data: d})
		return seq
	}
	say := func(prev int64, text string) int64 {
		return apply(apply(prev, event.UserMessage{ID: text, Delivery: fact.AsPrompt, Message: llm.UserText(text)}), event.RunEnd{Reason: event.Completed})
	}
	texts := func() string {
		var all []string
		for _, it := range s.Items {
			if p, ok := it.Data.(*view.Prompt); ok {
				all = append(all, p.Message.Message.Text())
			}
		}
		return strings.Join(all, " ")
	}
	one := say(0, "one")
	two := say(one, "two")
	first := s.Items[0]
	id, version := first.ID, first.Version
	three := say(apply(one, event.Rewound{}), "three")
	if got := texts(); got != "one three" {
		t.Errorf("prompts %s", got)
	}
	if s.Items[0].ID != id || s.Items[0].Version <= version {
		t.Errorf("the first item is %s of version %d, was %s of %d", s.Items[0].ID, s.Items[0].Version, id, version)
	}
	apply(two, event.Rewound{})
	if got := texts(); got != "one two" {
		t.Errorf("prompts %s", got)
	}
	apply(three, event.Rewound{})
	if got := texts(); got != "one three" {
		t.Errorf("prompts %s", got)
	}
}

// Each instant of a run counts once: a person who is asked while a tool runs does not wait.
func TestTimeSplit(t *testing.T) {
	var s view.State
	for i, step := range []struct {
		at int
		d  event.Data
	}{
		{0, event.UserMessage{ID: "p", Delivery: fact.AsPrompt, Message: llm.UserText("go")}},
		{1, fact.ModelStart{Key: "m1"}}, // 1 s of other things
		{3, event.ModelFailed{Key: "m1", Retry: true}},
		{7, fact.ModelStart{Key: "m2"}}, // 4 s until the next try
		{8, event.AssistantMessage{Key: "m2", Response: llm.Response{Message: llm.Message{Content: llm.Blocks{llm.ToolUse{ID: "a", Name: "A"}, llm.ToolUse{ID: "b", Name: "B"}}}}}},
		{8, fact.Authorized{Call: "c5.0", Decision: permission.Allow()}},
		{8, event.ToolStart{Call: "c5.0"}},
		{9, fact.Authorized{Call: "c5.1", Decision: permission.Ask("why")}},
		{12, event.ToolResult{Call: "c5.0", Result: *tool.Text("a")}},                         // 4 s of tools
		{20, fact.Answered{Call: "c5.1", Decision: permission.Deny("no")}},                    // 8 s for the person
		{20, event.ToolResult{Call: "c5.1", Cause: "denied", Result: *tool.Errorf("denied")}}, //
		{20, event.RunEnd{Reason: event.Suspended}},
		{90, event.Resumed{}}, // does not count
		{90, fact.ModelStart{Key: "m3"}},
		{95, event.RunEnd{Reason: event.Completed}},
	} {
		s.Apply(event.Event{Seq: int64(i + 1), Prev: int64(i), Time: time.Unix(int64(step.at), 0), Data: step.d})
		if step.at == 9 {
			if got := s.Split(time.Unix(10, 0)).Tools; got != 2*time.Second {
				t.Errorf("in the run: %v of tools", got)
			}
		}
	}
	end := s.Items[len(s.Items)-1].Data.(*view.End)
	want := view.Split{Waiting: 8 * time.Second, Tools: 4 * time.Second, Model: 8 * time.Second, Retry: 4 * time.Second, Other: time.Second}
	if end.Time != want || end.Calls != 2 || end.Denied != 1 || s.Split(time.Unix(200, 0)) != want {
		t.Errorf("%+v, %d calls, %d denied; want %+v", end.Time, end.Calls, end.Denied, want)
	}
}
