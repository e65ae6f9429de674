package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/toolhost"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// which is a call of AskUser with a question of two options.
func which() llmtest.Step {
	options := []any{map[string]any{"label": "red"}, map[string]any{"label": "blue"}}
	return llmtest.Call(llmtest.Use("", "AskUser", map[string]any{"questions": []any{map[string]any{"question": "Which?", "options": options}}}))
}

func answerLater(context.Context, tool.Call, []tool.Question) ([]tool.Answer, error) {
	return nil, fmt.Errorf("nobody is there: %w", agent.ErrSuspended)
}

func chosen(labels ...string) []tool.Answer { return []tool.Answer{{Options: labels}} }

// toolsSaid returns the results of a session's calls, by the name of the tool.
func toolsSaid(t *testing.T, store session.Store, id string) map[string]string {
	t.Helper()
	names, out := map[string]string{}, map[string]string{}
	for e, err := range store.Read(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch d := e.Data.(type) {
		case event.AssistantMessage:
			for i, u := range d.Response.Message.ToolUses() {
				names[fmt.Sprintf("c%d.%d", e.Seq, i)] = u.Name
			}
		case event.ToolResult:
			out[names[d.Call]] = d.Result.Text()
		}
	}
	return out
}

func suspends(t *testing.T, s *agent.Session) []event.PermissionRequest {
	t.Helper()
	if _, err := s.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrSuspended) {
		t.Fatalf("the run ended with %v", err)
	}
	pending, err := s.Pending(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return pending
}

// A deferred question of a tool suspends the run and those above it. The session at the root
// answers it, also in another program and in a fork. The tool is not called again.
func TestQuestionsDefer(t *testing.T) {
	for name, c := range map[string]struct {
		agents           []int // none: the run itself asks
		background, deep bool
		fork             bool
	}{
		"its own":         {},
		"its own, fork":   {fork: true},
		"foreground":      {agents: []int{1}},
		"several":         {agents: []int{1, 2, 3}},
		"background":      {agents: []int{1, 2}, background: true},
		"an agent's":      {agents: []int{1}, deep: true},
		"in a fork":       {agents: []int{1}, fork: true},
		"background fork": {agents: []int{1}, background: true, fork: true},
	} {
		t.Run(name, func(t *testing.T) {
			store, calls := session.Memory(), new(atomic.Int32)
			ask := tool.New(tool.Spec{Name: "ask", ReadOnly: true, NeedsPerson: true}, func(context.Context, tool.Call, number) (*tool.Result, error) {
				calls.Add(1)
				r := tool.Text("nobody")
				r.Questions = []tool.Question{{Text: "Which?", Options: []tool.Option{{Label: "red"}, {Label: "blue"}}}}
				return r, nil
			})
			open := func(id string) *agent.Session {
				kind := &agent.Agent{Name: "helper", Model: byTurn(t, uses("ask"), say("helped")), Tools: []tool.Tool{ask}}
				if c.deep {
					kind = &agent.Agent{Name: "middle", Model: byTurn(t, delegates(1), say("passed on")), Tools: []tool.Tool{delegate(kind, false), ask}}
				}
				first := delegates(c.agents...)
				if c.agents == nil {
					first = uses("ask")
				}
				a := &agent.Agent{Model: byTurn(t, first, say("end"), say("end"), say("end"), say("end")), Tools: []tool.Tool{delegate(kind, c.background), ask},
					Sessions: store, AwaitAgents: true, AskUser: answerLater}
				return a.Session(id)
			}
			s := open("s")
			suspends(t, s)
			s.Close()
			id := "s"
			if c.fork {
				id = forked(t, store, "s", "fork", 0)
			}
			want := max(len(c.agents), 1)
			listed, err := session.Waiting(t.Context(), store, id)
			if err != nil || len(listed) != want || len(listed[0].Questions) != 1 || len(listed[0].Questions[0].Options) != 2 {
				t.Fatalf("%+v, %v", listed, err)
			}
			s = open(id)
			defer s.Close()
			pending, err := s.Pending(t.Context())
			if err != nil || len(pending) != want {
				t.Fatalf("%d questions, %v", len(pending), err)
			}
			for i, q := range pending { // in the order of the calls; listed are the oldest first
				call := q.Call.ID
				if q.Call.Name != "ask" || strings.Contains(call, "/") != (c.agents != nil) || len(q.Questions) != 1 || len(q.Questions[0].Options) != 2 || !slices.ContainsFunc(listed, func(l session.Question) bool { return l.Call == call }) {
					t.Errorf("asked about %+v, listed are %+v", q, listed)
				}
				if err := s.Decide(t.Context(), call, permission.Allow()); !errors.Is(err, agent.ErrNoQuestion) || !strings.Contains(err.Error(), "Session.Answer") {
					t.Errorf("a decision about it: %v", err)
				}
				for _, wrong := range [][]tool.Answer{chosen("green"), chosen("red", "blue"), append(chosen("red"), chosen("red")...)} {
					if err := s.Answer(t.Context(), call, wrong); err == nil {
						t.Errorf("the answers %v are taken", wrong)
					}
				}
				if err := s.Answer(t.Context(), call, chosen("blue")); err != nil {
					t.Fatal(err)
				}
				if err := s.Answer(t.Context(), call, chosen("red")); !errors.Is(err, agent.ErrNoQuestion) {
					t.Errorf("answering again: %v", err)
				}
				if left, _ := s.Pending(t.Context()); len(left) != want-i-1 {
					t.Errorf("%d questions are left after answer %d", len(left), i+1)
				}
			}
			resume(t, s)
			if s.Result().Reason != event.Completed || s.Result().Text != "end" || int(calls.Load()) != want {
				t.Errorf("%d calls, %+v", calls.Load(), s.Result())
			}
			if c.agents == nil && toolsSaid(t, store, id)["ask"] != "Which?\n> blue" {
				t.Errorf("the model was told %q", toolsSaid(t, store, id))
			}
		})
	}
}

// A question of a tool and one about permission wait together, and are answered in any order.
// The parent's other calls end first.
func TestQuestionsDeferTogether(t *testing.T) {
	for name, parent := range map[string][]llm.ToolUse{
		"one answer":      slices.Concat(which().Calls, uses("write").Calls),
		"the other order": slices.Concat(uses("write").Calls, which().Calls),
		"with an agent":   slices.Concat(uses("double").Calls, delegates(1).Calls, uses("write").Calls),
	} {
		for _, questionFirst := range []bool{false, true} {
			t.Run(fmt.Sprint(name, questionFirst), func(t *testing.T) {
				store, writes := session.Memory(), 0
				w := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
					writes++
					return tool.Text("wrote"), nil
				})
				kind := &agent.Agent{Name: "helper", Model: byTurn(t, which(), say("helped")), Tools: []tool.Tool{tools.AskUser()}}
				open := func() *agent.Session {
					return (&agent.Agent{Model: byTurn(t, llmtest.Step{Calls: parent}, say("end")), Tools: []tool.Tool{delegate(kind, false), w, double, tools.AskUser()},
						Sessions: store, CanUseTool: deferAsked, AskUser: answerLater}).Session("s")
				}
				s := open()
				pending := suspends(t, s)
				if name == "one answer" && len(pending) != 2 || writes > 0 {
					t.Fatalf("%d questions, %d writes", len(pending), writes)
				}
				for questions := 0; len(pending) > 0; questions++ { // each is answered in another program
					s.Close()
					s = open()
					i := slices.IndexFunc(pending, func(p event.PermissionRequest) bool { return (len(p.Questions) > 0) == questionFirst })
					q := pending[max(i, 0)]
					answer, decide := s.Answer(t.Context(), "c9.9", nil), s.Decide(t.Context(), "c9.9", permission.Allow())
					if !errors.Is(answer, agent.ErrNoQuestion) || !errors.Is(decide, agent.ErrNoQuestion) {
						t.Errorf("about another call: %v, %v", answer, decide)
					}
					err := error(nil)
					if len(q.Questions) > 0 {
						err = s.Answer(t.Context(), q.Call.ID, chosen("red"))
					} else {
						if err := s.Answer(t.Context(), q.Call.ID, chosen("red")); !errors.Is(err, agent.ErrNoQuestion) || !strings.Contains(err.Error(), "Session.Decide") {
							t.Errorf("answers to a permission question: %v", err)
						}
						err = s.Decide(t.Context(), q.Call.ID, permission.Allow())
					}
					if err != nil || questions > 3 {
						t.Fatal(err, questions)
					}
					for _, err := range s.Resume(t.Context()) {
						if err != nil && !errors.Is(err, agent.ErrSuspended) {
							t.Fatal(err)
						}
					}
					if pending, err = s.Pending(t.Context()); err != nil && !errors.Is(err, agent.ErrNotRunning) {
						t.Fatal(err)
					}
				}
				defer s.Close()
				if res := s.Result(); res.Reason != event.Completed || writes != 1 {
					t.Errorf("%d writes, %+v", writes, res)
				}
				if got := toolsSaid(t, store, "s"); name == "with an agent" && (got["double"] != "0" || got["delegate"] != "helped") || name != "with an agent" && got["AskUser"] != "Which?\n> red" {
					t.Errorf("the model was told %q", got)
				}
			})
		}
	}
}

// A question that is answered after any fact since it was asked counts: also when the program
// died between the deferral and the end of the run.
func TestAnswerAfterEachFact(t *testing.T) {
	store := session.Memory()
	a := agent.Agent{Model: byTurn(t, llmtest.Step{Calls: slices.Concat(which().Calls, uses("double").Calls)}, say("end")), Tools: []tool.Tool{double, tools.AskUser()}, Sessions: store, AskUser: answerLater}
	s := a.Session("s")
	suspends(t, s)
	s.Close()
	info, err := session.Stat(t.Context(), store, "s")
	if err != nil {
		t.Fatal(err)
	}
	answered := 0
	for n := int64(1); n <= info.Facts; n++ {
		id := forked(t, store, "s", fmt.Sprint("s", n), n)
		own := a
		s := own.Session(id)
		pending, err := s.Pending(t.Context())
		if err == nil {
			answered++
			if err := s.Answer(t.Context(), pending[0].Call.ID, chosen("red")); err != nil {
				t.Errorf("after %d facts: %v", n, err)
			}
			resume(t, s)
			if got := toolsSaid(t, store, id)["AskUser"]; s.Result() == nil || s.Result().Reason != event.Completed || got != "Which?\n> red" {
				t.Errorf("after %d facts: %q, %+v", n, got, s.Result())
			}
		}
		s.Close()
	}
	if answered < 3 {
		t.Errorf("the question was open after %d facts", answered)
	}
}

// An answer or a decision that comes while the run waits for its last call, before it is
// suspended, lets the run continue.
func TestAnswerBeforeTheSuspension(t *testing.T) {
	for _, asks := range []bool{true, false} {
		t.Run(fmt.Sprint(asks), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := which()
				if !asks {
					asked = uses("write")
				}
				slow := tool.Func(tool.Spec{Name: "slow", ReadOnly: true}, func(context.Context, number) (string, error) {
					time.Sleep(5 * time.Minute)
					return "late", nil
				})
				w := write(func(context.Context, tool.Call, int) (*tool.Result, error) { return tool.Text("wrote"), nil })
				store := session.Memory()
				later := func(context.Context) { time.Sleep(time.Minute) }
				a := &agent.Agent{Model: byTurn(t, llmtest.Step{Calls: slices.Concat(uses("slow").Calls, asked.Calls)}, say("end")), Tools: []tool.Tool{slow, w, tools.AskUser()}, Sessions: store,
					CanUseTool: func(ctx context.Context, call tool.Call, v permission.Decision) (permission.Decision, error) {
						if v.Behavior == permission.Asked {
							later(ctx)
						}
						return deferAsked(ctx, call, v)
					},
					AskUser: func(ctx context.Context, call tool.Call, q []tool.Question) ([]tool.Answer, error) {
						later(ctx)
						return answerLater(ctx, call, q)
					}}
				s := a.Session("s")
				defer s.Close()
				go func() {
					time.Sleep(3 * time.Minute)
					pending, err := s.Pending(t.Context())
					if err != nil || len(pending) != 1 {
						t.Errorf("%v, %v", pending, err)
						return
					}
					if asks {
						err = s.Answer(t.Context(), pending[0].Call.ID, chosen("red"))
					} else {
						err = s.Decide(t.Context(), pending[0].Call.ID, permission.Allow())
					}
					if err != nil {
						t.Error(err)
					}
				}()
				if res, err := s.Prompt(t.Context(), "go"); err != nil || res.Text != "end" {
					t.Errorf("%+v, %v", res, err)
				}
			})
		})
	}
}

// Time in which a tool's question is suspended does not count to the budget.
func TestDeferredQuestionTakesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent.Agent{Model: llmtest.Script(which(), say("end")), Tools: []tool.Tool{tools.AskUser()}, Sessions: session.Memory(), AskUser: answerLater, Budget: agent.Budget{Time: time.Minute}}
		s := a.Session("s")
		defer s.Close()
		pending := suspends(t, s)
		time.Sleep(24 * time.Hour)
		if err := s.Answer(t.Context(), pending[0].Call.ID, chosen("red")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		resume(t, s)
		if res := s.Result(); res.Reason != event.Completed || res.Duration != 0 {
			t.Errorf("%+v", res)
		}
	})
}

// What else can happen to a session whose tool waits for an answer.
func TestSuspendedQuestion(t *testing.T) {
	begin := func(t *testing.T, steps ...llmtest.Step) (*agent.Session, session.Store, string) {
		store := session.Memory()
		a := &agent.Agent{Model: byTurn(t, append([]llmtest.Step{which()}, steps...)...), Tools: []tool.Tool{tools.AskUser()}, Sessions: store, AskUser: answerLater}
		s := a.Session("s")
		t.Cleanup(func() { s.Close() })
		return s, store, suspends(t, s)[0].Call.ID
	}
	t.Run("interrupted", func(t *testing.T) {
		s, _, call := begin(t, say("end"))
		if _, err := s.Interrupt(t.Context()); !errors.Is(err, agent.ErrNotRunning) {
			t.Errorf("an interrupt without a run: %v", err)
		}
		if err := s.Answer(t.Context(), call, chosen("red")); err != nil {
			t.Errorf("the question is gone: %v", err)
		}
	})
	t.Run("prompted", func(t *testing.T) {
		s, store, call := begin(t, say("end"))
		if res, err := s.Prompt(t.Context(), "something else"); err != nil || res.Text != "end" {
			t.Fatalf("%+v, %v", res, err)
		}
		if got := toolsSaid(t, store, "s")["AskUser"]; !strings.Contains(got, "not answered") {
			t.Errorf("the model was told %q", got)
		}
		if err := s.Answer(t.Context(), call, chosen("red")); !errors.Is(err, agent.ErrNoQuestion) {
			t.Errorf("an answer after that: %v", err)
		}
	})
	t.Run("rewound", func(t *testing.T) {
		s, store, call := begin(t, say("end"))
		if err := s.Rewind(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if err := s.Answer(t.Context(), call, chosen("red")); !errors.Is(err, agent.ErrNoQuestion) {
			t.Errorf("an answer after that: %v", err)
		}
		if list, err := session.Waiting(t.Context(), store, "s"); err != nil || len(list) > 0 {
			t.Errorf("%+v, %v", list, err)
		}
	})
	t.Run("compacted", func(t *testing.T) {
		s, _, call := begin(t, say("end"), say("a summary"), say("after it"))
		if err := s.Compact(t.Context(), ""); !errors.Is(err, agent.ErrSuspended) {
			t.Fatalf("compacting it: %v", err)
		}
		if err := s.Answer(t.Context(), call, chosen("red")); err != nil {
			t.Fatal(err)
		}
		if err := s.Compact(t.Context(), ""); !errors.Is(err, agent.ErrSuspended) {
			t.Fatalf("compacting it after the answer: %v", err)
		}
		resume(t, s)
		if err := s.Compact(t.Context(), ""); err != nil && errors.Is(err, agent.ErrSuspended) {
			t.Error(err)
		}
		if res, err := s.Prompt(t.Context(), "more"); err != nil || res.Text == "" {
			t.Errorf("%+v, %v", res, err)
		}
	})
	t.Run("asked again", func(t *testing.T) {
		s, _, call := begin(t, say("end"))
		err := error(nil)
		for _, failed := range s.Resume(t.Context()) {
			err = errors.Join(err, failed)
		}
		if !errors.Is(err, agent.ErrSuspended) {
			t.Fatalf("resumed without an answer: %v", err)
		}
		if err := s.Answer(t.Context(), call, chosen("red")); err != nil {
			t.Error(err)
		}
		resume(t, s)
		if res := s.Result(); res.Reason != event.Completed {
			t.Errorf("%+v", res)
		}
	})
}

// A plan is asked about, and a tool asks in plan mode: each waits without a process.
func TestPlanDefers(t *testing.T) {
	a, writes := planned(permission.Default, nil, enterPlan(), which(), exitPlan(), uses("write"), say("end"))
	a.Tools = append(a.Tools, tools.AskUser())
	a.CanUseTool, a.AskUser = deferAsked, answerLater
	s := a.Session("s")
	_, err := s.Prompt(t.Context(), "go")
	var order []string
	for errors.Is(err, agent.ErrSuspended) {
		s.Close()
		s = a.Session("s")
		pending, failed := s.Pending(t.Context())
		if failed != nil || len(pending) != 1 {
			t.Fatalf("%v, %v", pending, failed)
		}
		mode, _ := s.Mode(t.Context())
		order = append(order, pending[0].Call.Name+" "+string(mode))
		if len(pending[0].Questions) > 0 {
			failed = s.Answer(t.Context(), pending[0].Call.ID, []tool.Answer{{Text: "neither"}})
		} else {
			failed = s.Decide(t.Context(), pending[0].Call.ID, permission.Allow())
		}
		if failed != nil {
			t.Fatal(failed)
		}
		err = nil
		for _, failed := range s.Resume(t.Context()) {
			err = errors.Join(err, failed)
		}
	}
	defer s.Close()
	if err != nil || *writes != 1 || s.Result().Text != "end" {
		t.Errorf("%d writes, %+v, %v", *writes, s.Result(), err)
	}
	if want := []string{"AskUser plan", "ExitPlanMode plan", "write default"}; !slices.Equal(order, want) {
		t.Errorf("asked %q, want %q", order, want)
	}
}

// Two kinds of questions cannot wait without a process. One of an MCP server is dismissed,
// because its request is open. A call without a model fails.
func TestQuestionsThatCannotWait(t *testing.T) {
	action := toolhost.Action("")
	asks := tool.Func(tool.Spec{Name: "asks"}, func(ctx context.Context, _ number) (string, error) {
		action = toolhost.Elicit(ctx, toolhost.Elicitation{Server: "s", Message: "Fill in.", Schema: []byte(`{"type":"object"}`)}).Action
		return "", nil
	})
	a := &agent.Agent{Model: llmtest.Script(uses("asks"), say("end")), Permissions: bypass, Toolsets: []tool.Set{&changing{lists: [][]tool.Tool{{asks}}}}, AskUser: answerLater}
	if _, err := a.Prompt(t.Context(), "go"); err != nil || action != toolhost.Dismissed {
		t.Errorf("%v, %v", action, err)
	}
	direct := &agent.Agent{Tools: []tool.Tool{tools.AskUser()}, AskUser: answerLater}
	if _, err := direct.CallTool(t.Context(), "AskUser", json.RawMessage(`{"questions":[{"question":"Which?"}]}`)); !errors.Is(err, agent.ErrSuspended) {
		t.Errorf("a call without a model: %v", err)
	}
}
