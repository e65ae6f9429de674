package durable_test

import (
	"context"
	"testing"
	"time"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/durable/durabletest"
)

func TestMemory(t *testing.T) {
	durabletest.Run(t, true, func(t *testing.T) durabletest.Pair {
		const beat = 10 * time.Second
		db, queue := &durabletest.Memory{Lease: beat}, &durabletest.Queue{Beat: beat}
		return durabletest.Pair{
			Connect: func() (durable.Backend, func()) { c := db.Connect(); return c, c.Kill },
			Engine:  func(durable.Backend) durable.Engine { return queue },
			Work:    func(drain, dead context.Context, w *durable.Worker) { queue.Run(drain, dead, w) },
			Beat:    beat,
		}
	})
}
