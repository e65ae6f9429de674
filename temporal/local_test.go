package temporal_test

import (
	"testing"
	"time"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/durable/durabletest"
	"github.com/openagent-go/agent/temporal/temporaltest"
)

// TestDurable runs the tests of durable on the workflow and the activity, in the test environment
// of the SDK. TestServer does the same on a real server.
func TestDurable(t *testing.T) {
	const beat = time.Second
	durabletest.Run(t, false, func(t *testing.T) durabletest.Pair {
		db, server := &durabletest.Memory{Lease: beat}, temporaltest.New(t, beat)
		return durabletest.Pair{
			Connect: func() (durable.Backend, func()) { c := db.Connect(); return c, c.Kill },
			Engine:  func(durable.Backend) durable.Engine { return server },
			Work:    server.Work,
			Beat:    beat,
		}
	})
}
