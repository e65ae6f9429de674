package driver_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/driver"
	"github.com/openagent-go/agent/internal/eventqueue"
	"github.com/openagent-go/agent/llm/llmtest"
)

// watching is a log that keeps something for the time of each append's context.
type watching struct {
	*journal
	begun, ended chan struct{}
}

func (w *watching) Append(ctx context.Context, last int64, sync bool, events ...event.Event) error {
	w.begun <- struct{}{}
	context.AfterFunc(ctx, func() { w.ended <- struct{}{} })
	return w.journal.Append(ctx, last, sync, events...)
}

// The context of an append ends: at the latest with the run.
func TestContextsOfAppendsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRun(t, llmtest.Script(llmtest.Say("end")))
		w := &watching{journal: h.journal, begun: make(chan struct{}, 100), ended: make(chan struct{}, 100)}
		h.Init(t.Context(), driver.Config{Host: h, Executor: h.x, Conversation: &h.conv, Log: w, Events: eventqueue.New(nil), Errors: driver.Errors{Internal: errInternal, Stuck: errStuck}})
		h.Begin(h.Context(), nil, h.prompt("go"), nil)
		<-h.Done()
		synctest.Wait()
		if len(w.begun) == 0 || len(w.ended) != len(w.begun) {
			t.Errorf("%d appends, and %d of their contexts have ended", len(w.begun), len(w.ended))
		}
	})
}
