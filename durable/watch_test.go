package durable_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/durable/durabletest"
)

// TestEventsEnd: who watches a session gets the error of the context when it ends. It was lost
// at times, and the watcher waited for ever.
func TestEventsEnd(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			client := &durable.Client{Backend: (&durabletest.Memory{}).Connect()}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			var last error
			for _, err := range client.Events(ctx, "s", 0) {
				last = err
			}
			if !errors.Is(last, context.DeadlineExceeded) {
				t.Error(last)
			}
		})
	}
}
