package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A sleepyStore stands still in one append, and with it the run, whose token it
// holds: as when the machine sleeps, all timers go off during it.
type sleepyStore struct {
	session.Store
	at    int64 // fact
	pause time.Duration
}

func (s *sleepyStore) Open(ctx context.Context, id string, h session.Header) (session.Log, error) {
	log, err := s.Store.Open(ctx, id, h)
	return &sleepyLog{log, s}, err
}

type sleepyLog struct {
	session.Log
	store *sleepyStore
}

func (l *sleepyLog) Append(_ context.Context, after int64, sync bool, events ...event.Event) error {
	if after < l.store.at && l.store.at <= after+int64(len(events)) {
		time.Sleep(l.store.pause)
	}
	return l.Log.Append(context.Background(), after, sync, events...)
}

// During a pause, the limits of tools, the wait for the next try and the limit of the run
// all pass. Each counts once: every call has one result, the run has one end, the model
// gets no extra request, and the next prompt works.
func TestTimersAfterAPause(t *testing.T) {
	timedOut := 0
	for _, pause := range []time.Duration{0, 3 * time.Minute, time.Hour} {
		for at := int64(1); at <= 16; at++ {
			synctest.Test(t, func(t *testing.T) {
				slow := tool.New(tool.Spec{Name: "slow", ReadOnly: true, Timeout: time.Minute}, func(ctx context.Context, _ tool.Call, in number) (*tool.Result, error) {
					for range in.N {
						tool.Progress(ctx, tool.Status{Text: "still at it"})
						select {
						case <-ctx.Done():
							return nil, ctx.Err()
						case <-time.After(40 * time.Second):
						}
					}
					return tool.Text("ok"), nil
				})
				m := llmtest.Script(uses("slow", "slow", "slow", "slow"),
					llmtest.Step{Err: &llm.APIError{Class: llm.Overloaded, RetryAfter: 30 * time.Second}}, say("done"), say("more"))
				a := &agent.Agent{Model: m, Tools: []tool.Tool{slow}, Budget: agent.Budget{Time: 10 * time.Minute},
					Sessions: &sleepyStore{session.Memory(), at, pause}}
				s := a.Session("s")
				defer s.Close()
				res, err := s.Prompt(t.Context(), "go")
				if res == nil || err != nil && res.Reason != event.TimedOut || pause < time.Hour && err != nil {
					t.Fatalf("%v at fact %d: %+v, %v", pause, at, res, err)
				}
				if err != nil {
					timedOut++
				}
				asked := len(m.Requests())
				if asked > 3 {
					t.Errorf("%v at fact %d: the model was asked %d times", pause, at, asked)
				}
				ends, results := 0, map[string]int{}
				for _, e := range recordedIn(t, a.Sessions) {
					switch f := e.Data.(type) {
					case event.RunEnd:
						ends++
					case event.ToolResult:
						results[f.Call]++
					}
				}
				for call, n := range results {
					if n != 1 {
						t.Errorf("%v at fact %d: %d results of %s", pause, at, n, call)
					}
				}
				if ends != 1 || len(results) != 4 && len(results) != 0 {
					t.Errorf("%v at fact %d: %d ends, %d calls with results", pause, at, ends, len(results))
				}
				if res, err := s.Prompt(t.Context(), "again"); err != nil || res.Reason != event.Completed {
					t.Errorf("%v at fact %d: the next prompt: %+v, %v", pause, at, res, err)
				}
			})
		}
	}
	if timedOut < 5 {
		t.Errorf("only %d runs met their limit", timedOut)
	}
}

// A prompt with a deadline in the past ends at once with its error. Nothing begins, and the
// model is not called.
func TestDeadlineInThePast(t *testing.T) {
	past, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Hour))
	defer cancel()
	m := llmtest.Script(say("asked"))
	store := session.Memory()
	a := &agent.Agent{Model: m, Tools: []tool.Tool{double}, Sessions: store}
	s := a.Session("s")
	defer s.Close()
	res, err := s.Prompt(past, "go")
	if !errors.Is(err, context.DeadlineExceeded) || res != nil {
		t.Errorf("prompt: %+v, %v", res, err)
	}
	for _, err := range s.Resume(past) {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("resume: %v", err)
		}
	}
	if list, err := store.List(t.Context()); len(list) > 0 || len(m.Requests()) > 0 {
		t.Errorf("%d requests, and %v is there, %v", len(m.Requests()), list, err)
	}

	// A run whose time was over when its program died. Time after that does not count.
	begun := time.Now().Add(-time.Hour)
	store = seeded(t, []event.Event{
		{Seq: 1, Time: begun, Data: fact.Configured{Model: m.Name(), Limits: fact.Limits{Time: time.Minute}}},
		{Seq: 2, Prev: 1, Time: begun, Data: event.UserMessage{ID: "p", Delivery: fact.AsPrompt, Message: llm.UserText("go")}},
		{Seq: 3, Prev: 2, Time: begun.Add(2 * time.Minute), Data: event.UserMessage{ID: "more", Delivery: fact.AsSteer, Message: llm.UserText("more")}},
	})
	a.Sessions = store
	late := a.Session("s")
	defer late.Close()
	var end event.RunEnd
	for e, err := range late.Resume(t.Context()) {
		if f, ok := e.Data.(event.RunEnd); ok {
			end = f
		} else if err != nil && !errors.Is(err, agent.ErrLimit) {
			t.Errorf("%+v, %v", e, err)
		}
	}
	if end.Reason != event.TimedOut {
		t.Errorf("the run ends with %+v", end)
	}
}
