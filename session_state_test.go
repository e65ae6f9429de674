package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// The state that lists show is the one that the engine finds, after each fact of a session:
// with questions of its own, of a tool and of agents, suspended, answered, rewound, and cut
// short at any fact.
func TestStateAfterEachFact(t *testing.T) {
	question := llmtest.Call(llmtest.Use("", "AskUser", map[string]any{"questions": []any{map[string]any{"question": "Which?"}}}))
	write := write(func(context.Context, tool.Call, int) (*tool.Result, error) { return tool.Text("wrote"), nil })
	for name, c := range map[string]struct {
		steps []llmtest.Step
		asks  llmtest.Step // what the agents do
		later bool         // questions of tools are deferred
	}{
		"a question":         {steps: []llmtest.Step{uses("write"), say("end")}},
		"several":            {steps: []llmtest.Step{{Calls: append(uses("write").Calls, uses("write").Calls...)}, uses("write"), say("end")}},
		"an agent's":         {steps: []llmtest.Step{delegates(1, 2), say("end"), say("end")}, asks: uses("write")},
		"of a tool":          {steps: []llmtest.Step{question, say("end")}},
		"of a tool, later":   {steps: []llmtest.Step{question, say("end")}, later: true},
		"both, later":        {steps: []llmtest.Step{{Calls: append(question.Calls, uses("write").Calls...)}, question, say("end")}, later: true},
		"an agent's tool's":  {steps: []llmtest.Step{delegates(1, 2), say("end"), say("end")}, asks: question, later: true},
		"its own and theirs": {steps: []llmtest.Step{{Calls: append(question.Calls, delegates(1, 2).Calls...)}, say("end"), say("end")}, asks: question, later: true},
		"no question":        {steps: []llmtest.Step{say("end")}},
	} {
		for _, background := range []bool{false, true} {
			for kind, store := range map[string]session.Store{"memory": session.Memory(), "dir": session.Dir(t.TempDir())} {
				t.Run(fmt.Sprint(name, background, kind), func(t *testing.T) {
					helper := func() *agent.Agent {
						return &agent.Agent{Name: "helper", Model: byTurn(t, c.asks, say("helped")), Tools: []tool.Tool{write, tools.AskUser()}}
					}
					a := agent.Agent{Model: byTurn(t, c.steps...), Tools: []tool.Tool{write, tools.AskUser(), delegate(helper(), background)}, Sessions: store, AwaitAgents: true, CanUseTool: deferAsked,
						AskUser: func(context.Context, tool.Call, []tool.Question) ([]tool.Answer, error) {
							if c.later {
								return nil, agent.ErrSuspended
							}
							return []tool.Answer{{}}, nil
						}}
					s := a.Session("s")
					_, err := s.Prompt(t.Context(), "go")
					for err != nil {
						if !errors.Is(err, agent.ErrSuspended) {
							t.Fatal(err)
						}
						pending, failed := s.Pending(t.Context())
						if failed != nil {
							t.Fatal(failed)
						}
						for _, q := range pending {
							if len(q.Questions) > 0 {
								failed = s.Answer(t.Context(), q.Call.ID, []tool.Answer{{Text: "this one"}})
							} else {
								failed = s.Decide(t.Context(), q.Call.ID, permission.Allow())
							}
							if failed != nil {
								t.Fatal(failed)
							}
						}
						err = nil
						for _, failed := range s.Resume(t.Context()) {
							err = errors.Join(err, failed)
						}
					}
					info, err := session.Stat(t.Context(), store, "s")
					if err != nil {
						t.Fatal(err)
					}
					if err := s.Rewind(t.Context(), info.Facts/2); err != nil {
						t.Fatal(err)
					}
					s.Close()
					for n := int64(1); n <= info.Facts+1; n++ {
						checkState(t, a, "s", n)
					}
				})
			}
		}
	}
}

// checkState compares the state and the questions that lists show of the first n facts with
// those that a session finds.
func checkState(t *testing.T, a agent.Agent, id string, n int64) {
	t.Helper()
	part := fmt.Sprintf("%s-%d", id, n)
	if err := session.Fork(t.Context(), a.Sessions, id, part, n); err != nil {
		t.Fatal(err)
	}
	info, err := session.Stat(t.Context(), a.Sessions, part)
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := session.Waiting(t.Context(), a.Sessions, part)
	if err != nil {
		t.Fatal(err)
	}
	s := a.Session(part)
	defer s.Close()
	open, err := s.CanResume(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pending, err := s.Pending(t.Context())
	if err != nil && !errors.Is(err, agent.ErrNotRunning) {
		t.Fatal(err)
	}
	for _, q := range waiting {
		if len(q.Questions) > 0 && (q.Tool != "AskUser" || q.Text != "Which?") {
			t.Errorf("after %d facts: the tool's question is %+v", n, q)
		}
	}
	want := session.StateIdle
	switch {
	case len(pending) > 0:
		want = session.StateWaiting
	case open:
		want = session.StateUnfinished
	}
	if info.State != want || len(waiting) != len(pending) {
		t.Errorf("after %d facts: state %s with %d questions, want %s with %d", n, info.State, len(waiting), want, len(pending))
	}
	for _, q := range waiting {
		if q.Session != part || q.Tool == "" || len(q.Input) == 0 || q.Since.IsZero() || q.Text == "" || strings.Contains(q.Call, "/") != (q.Agent == "helper") {
			t.Errorf("after %d facts: the question is %+v", n, q)
		}
		found := false
		for _, p := range pending {
			found = found || p.Call.ID == q.Call && p.Call.Name == q.Tool && len(p.Questions) == len(q.Questions)
		}
		if !found {
			t.Errorf("after %d facts: no question has the call %s", n, q.Call)
		}
	}
}

// A session is running while its run has the lock. A question that a callback is asked right
// now is listed as well.
func TestStateOfARun(t *testing.T) {
	for name, store := range map[string]session.Store{"memory": session.Memory(), "dir": session.Dir(t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			asked, works, next := make(chan struct{}), make(chan struct{}), make(chan struct{})
			write := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
				close(works)
				<-next
				return tool.Text("wrote"), nil
			})
			a := &agent.Agent{Model: llmtest.Script(uses("write"), say("end")), Tools: []tool.Tool{write}, Sessions: store,
				CanUseTool: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
					close(asked)
					<-next
					return permission.Allow(), nil
				}}
			is := func(want session.State) {
				t.Helper()
				list, err := store.List(t.Context())
				if err != nil || len(list) != 1 || list[0].State != want {
					t.Errorf("%+v, %v; want %s", list, err, want)
				}
			}
			s := a.Session("s")
			done := make(chan error)
			go func() { _, err := s.Prompt(t.Context(), "go"); done <- err }()
			<-asked
			is(session.StateWaiting)
			if q, err := session.Waiting(t.Context(), store); err != nil || len(q) != 1 || q[0].Tool != "write" || time.Since(q[0].Since) > time.Minute {
				t.Errorf("%+v, %v", q, err)
			}
			next <- struct{}{}
			<-works
			is(session.StateRunning)
			next <- struct{}{}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			is(session.StateIdle)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			is(session.StateIdle)
			log, err := store.Open(t.Context(), "s", session.Header{}) // a program that dies in its run
			if err != nil {
				t.Fatal(err)
			}
			last := log.Last()
			if err := log.Append(t.Context(), last, false, event.Event{Seq: last + 1, Prev: last, Time: time.Now(), Data: event.UserMessage{ID: "x", Delivery: fact.AsPrompt}}); err != nil {
				t.Fatal(err)
			}
			is(session.StateRunning)
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			is(session.StateUnfinished)
		})
	}
}
