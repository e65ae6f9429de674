//go:build unix

package postgres_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/internal/teamtest"
	"github.com/openagent-go/agent/postgres"
)

// inSpaces is a ledger with spaces of its own within another one.
type inSpaces struct {
	teamstore.Ledger
	prefix string
}

func (l inSpaces) Read(ctx context.Context, space, after string) ([]string, string, time.Time, error) {
	return l.Ledger.Read(ctx, l.prefix+space, after)
}

func (l inSpaces) Write(ctx context.Context, space, after string, fn func([]string, time.Time) ([]string, bool, error)) (string, error) {
	return l.Ledger.Write(ctx, l.prefix+space, after, fn)
}

func (l inSpaces) Watch(ctx context.Context, space string) (<-chan struct{}, error) {
	return l.Ledger.Watch(ctx, l.prefix+space)
}

func (l inSpaces) Lock(ctx context.Context, name string) (func(), error) {
	return l.Ledger.Lock(ctx, l.prefix+name)
}

func (l inSpaces) Locked(ctx context.Context, name string) (bool, error) {
	return l.Ledger.Locked(ctx, l.prefix+name)
}

// TestTeam tests the rules of tasks, teams and mail in a database.
func TestTeam(t *testing.T) {
	db := connect(t, database(t)+"&pool_max_conns=16", postgres.Options{})
	var n atomic.Int64
	teamtest.Run(t, func(t *testing.T, clock *teamtest.Clock) teamtest.Store {
		apart := inSpaces{postgres.LedgerOf(db), fmt.Sprint("t", n.Add(1), "/")}
		s := &teamstore.LedgerStore{Ledger: teamtest.ByClock(apart, clock)}
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
}

func TestLedger(t *testing.T) {
	url := database(t)
	teamtest.RunLedger(t, func(t *testing.T) (teamstore.Ledger, func()) {
		db := connect(t, url, postgres.Options{Lease: time.Second})
		return postgres.LedgerOf(db), db.Close
	})
}

// TestSharedTeam tests stores of several programs on one database.
func TestSharedTeam(t *testing.T) {
	url := database(t)
	teamtest.RunShared(t, func(t *testing.T) (teamtest.Store, func()) {
		db := connect(t, url, postgres.Options{Lease: time.Second})
		return &teamstore.LedgerStore{Ledger: postgres.LedgerOf(db)}, db.Close
	})
}
