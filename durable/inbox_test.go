package durable_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/durable/durabletest"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
)

// counted counts how often an inbox is read.
type counted struct {
	durable.Backend
	reads atomic.Int64
}

func (c *counted) Inbox(ctx context.Context, session string) ([]durable.Mail, error) {
	c.reads.Add(1)
	return c.Backend.Inbox(ctx, session)
}

// TestWaitingRunReadsLittle: a run that waits for its model leaves the database alone. Ten
// thousand of them read it ten thousand times a second before.
func TestWaitingRunReadsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, queue := &durabletest.Memory{}, &durabletest.Queue{}
		backend := &counted{Backend: db.Connect()}
		w := &durable.Worker{Backend: backend, Agent: func(context.Context, durable.Where) (durable.Hosted, error) {
			return durable.Hosted{Agent: &agent.Agent{Model: llmtest.Script(llmtest.Step{Text: "done", Delay: 5 * time.Minute})}}, nil
		}}
		ctx, stop := context.WithCancel(t.Context())
		var working sync.WaitGroup
		defer working.Wait()
		defer stop()
		working.Go(func() { queue.Run(ctx, t.Context(), w) })
		client := &durable.Client{Backend: db.Connect(), Engine: queue}
		if _, err := client.Send(t.Context(), "s", "p", durable.Prompt{Text: "go"}); err != nil {
			t.Fatal(err)
		}
		end, err := client.Wait(t.Context(), "s", "p")
		if err != nil || end.Reason != event.Completed {
			t.Fatal(end.Reason, err)
		}
		if n := backend.reads.Load(); n > 40 {
			t.Errorf("the inbox was read %d times in five minutes", n)
		}
	})
}
