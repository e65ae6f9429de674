package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A jumpingStore records times as a clock gives them that jumps once.
type jumpingStore struct {
	session.Store
	after int64 // the first fact after the jump
	jump  time.Duration
}

func (s *jumpingStore) Open(ctx context.Context, id string, h session.Header) (session.Log, error) {
	log, err := s.Store.Open(ctx, id, h)
	return &jumpingLog{log, s}, err
}

type jumpingLog struct {
	session.Log
	store *jumpingStore
}

func (l *jumpingLog) Append(ctx context.Context, after int64, sync bool, events ...event.Event) error {
	jumped := make([]event.Event, len(events))
	for i, e := range events {
		e.Time = e.Time.Round(0)
		if e.Seq >= l.store.after {
			e.Time = e.Time.Add(l.store.jump)
			if f, ok := e.Data.(event.ModelFailed); ok && f.Retry {
				f.RetryAt = f.RetryAt.Round(0).Add(l.store.jump)
				e.Data = f
			}
		}
		jumped[i] = e
	}
	return l.Log.Append(ctx, after, sync, jumped...)
}

// The wall clock is set back or forward at any fact of a run. The run is not affected. The
// recorded session can be resumed from any of its facts, and no write is repeated.
func TestWallClockJumps(t *testing.T) {
	const limit = 10 * time.Minute
	for _, jump := range []time.Duration{-time.Hour, -24 * time.Hour, 24 * time.Hour, time.Hour} { // DST is an hour, for clocks that do not keep UTC
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(30 * 24 * time.Hour)
			writes := 0
			w := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
				writes++
				time.Sleep(time.Second)
				return tool.Text("ok"), nil
			})
			overloaded := llmtest.Step{Err: &llm.APIError{Class: llm.Overloaded, RetryAfter: 30 * time.Second}}
			made := func(s session.Store, first int) *agent.Agent {
				steps := []llmtest.Step{overloaded, uses("write"), overloaded, say("done")}
				return &agent.Agent{Sessions: s, Tools: []tool.Tool{w}, Permissions: bypass, Budget: agent.Budget{Time: limit},
					Model: llmtest.Script(steps[first:]...)}
			}
			for after := int64(1); ; after++ {
				store := &jumpingStore{session.Memory(), after, jump}
				begin := time.Now()
				writes = 0
				s := made(store, 0).Session("s")
				res, err := s.Prompt(t.Context(), "go")
				s.Close()
				if took := time.Since(begin); err != nil || took != 61*time.Second || res.Duration != took {
					t.Fatalf("%v at fact %d: %v; %v passed, %+v", jump, after, err, took, res)
				}
				facts := recordedIn(t, store.Store)
				for cut := 2; cut < len(facts); cut++ {
					resumeAfterJump(t, fmt.Sprintf("%v at fact %d, cut after %d", jump, after, cut), facts[:cut], made)
				}
				if after > int64(len(facts)) {
					break
				}
			}
		})
	}
}

// resumeAfterJump resumes a history twice: the second time it is the clock of the
// resuming program that has jumped.
func resumeAfterJump(t *testing.T, when string, history []event.Event, made func(session.Store, int) *agent.Agent) {
	t.Helper()
	answers, failures := 0, 0
	for _, e := range history {
		switch e.Data.(type) {
		case event.AssistantMessage:
			answers++
		case event.ModelFailed:
			failures++
		}
	}
	for _, shift := range []time.Duration{0, -24 * time.Hour, 24 * time.Hour} {
		moved := append([]event.Event(nil), history...)
		for i := range moved {
			moved[i].Time = moved[i].Time.Add(shift)
			if f, ok := moved[i].Data.(event.ModelFailed); ok && f.Retry {
				f.RetryAt = f.RetryAt.Add(shift)
				moved[i].Data = f
			}
		}
		store := seeded(t, moved)
		s := made(store, min(answers+failures, 3)).Session("s")
		begin := time.Now()
		var res *event.RunEnd
		var failed error
		for e, err := range s.Resume(t.Context()) {
			if end, ok := e.Data.(event.RunEnd); ok {
				if res != nil {
					t.Errorf("%s: two ends", when)
				}
				res = &end
			}
			failed = errors.Join(failed, err)
		}
		switch took := time.Since(begin); {
		case took > 2*time.Minute:
			t.Errorf("%s, facts moved by %v: it took %v", when, shift, took)
		case res == nil || res.Duration < 0 || failed != nil && res.Reason != event.TimedOut:
			t.Errorf("%s, facts moved by %v: %v, %+v", when, shift, failed, res)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		last := time.Time{}
		for _, e := range recordedIn(t, store) {
			if e.Seq > int64(len(history)) && e.Time.Before(last) {
				t.Errorf("%s: the facts of a resumed run go back in time", when)
			}
			if e.Seq > int64(len(history)) {
				last = e.Time
			}
		}
		if list, err := store.List(t.Context()); err != nil || len(list) != 1 || !list[0].Updated.Equal(last) {
			t.Errorf("%s: %+v, %v", when, list, err)
		}
	}
}

func recordedIn(t *testing.T, s session.Store) (facts []event.Event) {
	t.Helper()
	for e, err := range s.Read(t.Context(), "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		facts = append(facts, e)
	}
	return facts
}
