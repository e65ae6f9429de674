package durable_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/durable/durabletest"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
)

// reading counts the facts that are read from the beginning of a session on.
type reading struct {
	durable.Backend
	facts atomic.Int64
}

func (r *reading) Store(worker string, lost func()) session.Store {
	s := r.Backend.Store(worker, lost)
	return struct {
		session.Store
		session.LastReader
		session.Waiter
	}{readStore{s, &r.facts}, s.(session.LastReader), s.(session.Waiter)}
}

type readStore struct {
	session.Store
	facts *atomic.Int64
}

func (s readStore) Read(ctx context.Context, id string, after int64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for e, err := range s.Store.Read(ctx, id, after) {
			s.facts.Add(1)
			if !yield(e, err) {
				return
			}
		}
	}
}

// Wait finds the end of each prompt of a long session, and for the last ones without reading all of it.
func TestWaitReadsTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const prompts = 50
		db, queue := &durabletest.Memory{}, &durabletest.Queue{}
		var steps []llmtest.Step
		for i := range prompts {
			steps = append(steps, llmtest.Say(fmt.Sprint("answer ", i)))
		}
		model := llmtest.Script(steps...)
		w := &durable.Worker{Backend: db.Connect(), Agent: func(context.Context, durable.Where) (durable.Hosted, error) {
			return durable.Hosted{Agent: &agent.Agent{Model: model}}, nil
		}}
		ctx, stop := context.WithCancel(t.Context())
		var working sync.WaitGroup
		defer working.Wait()
		defer stop()
		working.Go(func() { queue.Run(ctx, t.Context(), w) })
		backend := &reading{Backend: db.Connect()}
		client := &durable.Client{Backend: backend, Engine: queue}
		for i := range prompts {
			end, err := client.Prompt(t.Context(), "s", fmt.Sprint("p", i), "go")
			if err != nil || end.Text != fmt.Sprint("answer ", i) {
				t.Fatal(i, end.Text, err)
			}
		}
		if n := backend.facts.Load(); n > 10*prompts {
			t.Errorf("%d facts were read for %d prompts of about five", n, prompts)
		}
		for _, i := range slices.Backward([]int{0, 7, prompts / 2, prompts - 1}) {
			if end, err := client.Wait(t.Context(), "s", fmt.Sprint("p", i)); err != nil || end.Text != fmt.Sprint("answer ", i) {
				t.Error(i, end.Text, err)
			}
		}
	})
}
