//go:build unix

package temporaltest

import (
	"context"
	"testing"
	"time"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/durable/durabletest"
	"github.com/openagent-go/agent/postgres/internal/pgtest"
	"github.com/openagent-go/agent/temporal/temporaltest"
)

// TestDurable runs the tests of durable on the workflow of Temporal with sessions in PostgreSQL. The
// test environment of Temporal's SDK stands in for the server.
func TestDurable(t *testing.T) {
	if server == nil {
		t.Skip(pgtest.ErrNone)
	}
	const beat = time.Second
	durabletest.Run(t, false, func(t *testing.T) durabletest.Pair {
		url, engine := server.Database(t), temporaltest.New(t, beat)
		return durabletest.Pair{
			Connect: func() (durable.Backend, func()) {
				db := connect(t, url, beat)
				return db, db.Close
			},
			Engine: func(durable.Backend) durable.Engine { return engine },
			Work:   engine.Work,
			Beat:   beat,
		}
	})
}

// TestServer does the same with a Temporal server.
func TestServer(t *testing.T) {
	if server == nil {
		t.Skip(pgtest.ErrNone)
	}
	c := dialed(t)
	durabletest.Run(t, false, func(t *testing.T) durabletest.Pair {
		url, queue := server.Database(t), newQueue()
		return durabletest.Pair{
			Connect: func() (durable.Backend, func()) {
				db := connect(t, url, beat)
				return db, db.Close
			},
			Engine: func(durable.Backend) durable.Engine { return onTemporal(c, queue).wake(nil) },
			Work: func(drain, dead context.Context, w *durable.Worker) {
				own, err := dial() // nothing that a dead worker does reaches the server
				if err != nil {
					t.Error(err)
					return
				}
				stop, end := context.WithCancel(drain)
				defer end()
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					if err := onTemporal(own, queue).run(stop, w); err != nil && dead.Err() == nil {
						t.Error(err)
					}
				}()
				select {
				case <-ended:
				case <-dead.Done():
				}
				own.Close()
			},
			Beat: beat,
		}
	})
}
