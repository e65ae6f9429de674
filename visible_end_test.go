package agent_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
)

// An endingStore calls seen when the end of a run is on record, while the run still waits for
// its store.
type endingStore struct {
	session.Store
	seen func(event.RunEnd)
}

type endingLog struct {
	session.Log
	store *endingStore
}

func (s *endingStore) Open(ctx context.Context, id string, h session.Header) (session.Log, error) {
	log, err := s.Store.Open(ctx, id, h)
	return endingLog{log, s}, err
}

func (l endingLog) Append(ctx context.Context, after int64, sync bool, events ...event.Event) error {
	err := l.Log.Append(ctx, after, sync, events...)
	for _, e := range events {
		if end, ok := e.Data.(event.RunEnd); ok {
			l.store.seen(end)
		}
	}
	return err
}

// Who sees the end of a run can use the session at once, although the run is not closed yet.
func TestPromptAfterVisibleEnd(t *testing.T) {
	for name, use := range map[string]func(ctx context.Context, s *agent.Session) error{
		"prompt": func(ctx context.Context, s *agent.Session) error {
			_, err := s.Prompt(ctx, "again")
			return err
		},
		"stream": func(ctx context.Context, s *agent.Session) (failed error) {
			for _, err := range s.Stream(ctx, "again") {
				failed = err
			}
			return failed
		},
		"messages": func(ctx context.Context, s *agent.Session) error {
			m, err := s.Messages(ctx)
			if len(m) < 2 {
				return errors.New("there are no messages")
			}
			return err
		},
		"rewind": func(ctx context.Context, s *agent.Session) error { return s.Rewind(ctx, 1) },
		"can resume": func(ctx context.Context, s *agent.Session) error {
			_, err := s.CanResume(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			used := make(chan error, 1)
			var s *agent.Session
			calls := 0
			store := &endingStore{Store: session.Memory(), seen: func(event.RunEnd) {
				if calls++; calls > 1 {
					return
				}
				go func() { used <- use(context.Background(), s) }()
				time.Sleep(50 * time.Millisecond) // the run is not closed before use had its chance to fail
			}}
			a := &agent.Agent{Model: llmtest.Script(llmtest.Say("one"), llmtest.Say("two")), Sessions: store}
			s = a.Session("s")
			defer s.Close()
			if _, err := s.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			if err := <-used; err != nil {
				t.Error(err)
			}
		})
	}
}

// The wait for a run that is over ends with its context.
func TestVisibleEndContext(t *testing.T) {
	var s *agent.Session
	var failed error
	store := &endingStore{Store: session.Memory(), seen: func(event.RunEnd) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		_, failed = s.Messages(ctx) // the run waits for this call
	}}
	s = (&agent.Agent{Model: llmtest.Script(llmtest.Say("one")), Sessions: store}).Session("s")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(failed, context.DeadlineExceeded) {
		t.Error(failed)
	}
}
