//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/durable/durabletest"
	"github.com/openagent-go/agent/postgres"
	"github.com/openagent-go/agent/postgres/internal/pgtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/sessiontest"
)

// server is the PostgreSQL of all tests, nil if there is none.
var server *pgtest.Server

func TestMain(m *testing.M) {
	if url := os.Getenv(workerVar); url != "" && os.Getenv(phasesVar) != "" {
		if err := phaseProcess(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	} else if dir := os.Getenv(treeVar); url != "" && dir != "" {
		if err := treeProcess(url, dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	} else if url != "" {
		os.Exit(workProcess(url))
	}
	if url := os.Getenv(memberVar); url != "" {
		os.Exit(memberProcess(url, os.Getenv(memberNameVar)))
	}
	if url := os.Getenv(payerVar); url != "" {
		os.Exit(payerProcess(url))
	}
	if url := os.Getenv(openerVar); url != "" {
		db, err := postgres.Open(context.Background(), url, postgres.Options{})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		db.Close()
		os.Exit(0)
	}
	os.Exit(func() int {
		var err error
		if programs.dir, err = os.MkdirTemp("", "programs"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(programs.dir)
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

// open returns an empty database.
func open(t testing.TB, o postgres.Options) *postgres.DB {
	t.Helper()
	if server == nil {
		t.Skip(pgtest.ErrNone)
	}
	return connect(t, server.Database(t), o)
}

func connect(t testing.TB, url string, o postgres.Options) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func TestStore(t *testing.T) {
	db := open(t, postgres.Options{})
	var n atomic.Int64
	sessiontest.Run(t, func(t *testing.T) session.Store { // each store is one of sub-agents
		return session.Under(db.Store(t.Name(), nil), fmt.Sprint("t", n.Add(1)))
	})
}

func TestDurable(t *testing.T) {
	if server == nil {
		t.Skip(pgtest.ErrNone)
	}
	const beat = time.Second
	durabletest.Run(t, false, func(t *testing.T) durabletest.Pair {
		url := server.Database(t) + "&pool_max_conns=4" // many tests share the server
		return durabletest.Pair{
			Connect: func() (durable.Backend, func()) {
				db := connect(t, url, postgres.Options{Lease: beat})
				return db, db.Close
			},
			Engine: func(b durable.Backend) durable.Engine { return b.(*postgres.DB).Engine() },
			Work: func(drain, dead context.Context, w *durable.Worker) {
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					if err := postgres.Run(drain, w.Backend.(*postgres.DB), w, postgres.RunOptions{}); err != nil {
						t.Error(err)
					}
				}()
				select {
				case <-ended:
				case <-dead.Done():
				}
			},
			Beat: beat,
		}
	})
}
