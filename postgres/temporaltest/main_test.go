//go:build unix

// Package temporaltest tests sessions in PostgreSQL with workers that Temporal wakes, and measures
// both engines side by side. It is a module of its own, so that neither postgres nor temporal needs
// the other's modules. The tests start a PostgreSQL of their own. [TestDurable] needs no Temporal
// server. The other tests with Temporal do: TEMPORAL_TEST_SERVER has its address and a namespace, such as "127.0.0.1:7233 default".
package temporaltest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/postgres"
	"github.com/openagent-go/agent/postgres/internal/pgtest"
	"github.com/openagent-go/agent/temporal"
)

// server is the PostgreSQL of all tests, nil if there is none.
var server *pgtest.Server

func TestMain(m *testing.M) {
	if url := os.Getenv(workerVar); url != "" {
		os.Exit(workProcess(url))
	}
	os.Exit(func() int {
		s, err := pgtest.Start()
		switch {
		case err == nil:
			defer s.Stop()
			server = s
		case errors.Is(err, pgtest.ErrNone) && os.Getenv("CI") != "true":
			fmt.Fprintln(os.Stderr, "tests with a database are skipped:", err)
		default:
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// beat is the lease of sessions, and the heartbeat: the least that the SDK sends in time.
const beat = 2 * time.Second

const serverVar = "TEMPORAL_TEST_SERVER"

var queues atomic.Int64

// newQueue returns the name of a new task queue.
func newQueue() string { return fmt.Sprintf("test-%d-%d", os.Getpid(), queues.Add(1)) }

// dial connects to the Temporal server of the tests.
func dial() (client.Client, error) {
	address, namespace, _ := strings.Cut(os.Getenv(serverVar), " ")
	return client.Dial(client.Options{HostPort: address, Namespace: namespace, Logger: silent{}})
}

func dialed(tb testing.TB) client.Client {
	tb.Helper()
	if os.Getenv(serverVar) == "" {
		tb.Skip(serverVar + " does not name a Temporal server and a namespace")
	}
	c, err := dial()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// connect connects to an own database.
func connect(tb testing.TB, url string, lease time.Duration) *postgres.DB {
	tb.Helper()
	db, err := postgres.Open(tb.Context(), url, postgres.Options{Lease: lease})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(db.Close)
	return db
}

// An engine runs workers and wakes them.
type engine struct {
	name string
	wake func(*postgres.DB) durable.Engine
	run  func(context.Context, *durable.Worker) error
}

// table is the engine of package postgres.
func table() engine {
	return engine{"table", func(db *postgres.DB) durable.Engine { return db.Engine() }, func(ctx context.Context, w *durable.Worker) error {
		return postgres.Run(ctx, w.Backend.(*postgres.DB), w, postgres.RunOptions{})
	}}
}

// onTemporal is the engine of package temporal.
func onTemporal(c client.Client, queue string) engine {
	return engine{"temporal", func(*postgres.DB) durable.Engine { return temporal.Engine{Client: c, Queue: queue, Heartbeat: beat} },
		func(ctx context.Context, w *durable.Worker) error {
			return temporal.Run(ctx, c, queue, w, temporal.Options{})
		}}
}

type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}
