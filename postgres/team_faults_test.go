//go:build unix

package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/quotatest"
	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/postgres"
	"github.com/openagent-go/agent/postgres/internal/pgtest"
)

// A database is killed twice while agents on two machines work on tasks, report each and pay
// for it. Who gets an error tries again, as agents do. Each task is done, each report comes
// once, and nothing is spent beyond the limit or forgotten.
func TestTeamDatabaseKilled(t *testing.T) {
	if server == nil {
		t.Skip(pgtest.ErrNone)
	}
	t.Parallel()
	own, err := pgtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	const tasks, workers = 60, 4
	url := own.URL()
	var dbs []*postgres.DB
	for range 2 {
		db, err := postgres.Open(t.Context(), url, postgres.Options{Lease: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		dbs = append(dbs, db)
	}
	lead := &teamstore.LedgerStore{Ledger: postgres.LedgerOf(dbs[0])}
	var names []string
	for i := range workers {
		names = append(names, fmt.Sprint("w", i))
	}
	if _, err := lead.CreateTeam(t.Context(), "s", "red", "lead", names, ""); err != nil {
		t.Fatal(err)
	}
	for range tasks {
		if _, err := lead.AddTask(t.Context(), "s", teamstore.Task{Subject: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	until := time.Now().Add(time.Minute)
	// again does something until it succeeds, or until there is no more task.
	again := func(do func() error) bool {
		for time.Now().Before(until) {
			err := do()
			if err == nil || errors.Is(err, teamstore.ErrNone) {
				return err == nil
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Error("a database that is back does not answer")
		return false
	}
	var all sync.WaitGroup
	for i, name := range names {
		store, quotas := &teamstore.LedgerStore{Ledger: postgres.LedgerOf(dbs[i%2])}, dbs[i%2].Quota()
		all.Go(func() {
			for {
				var task teamstore.Task
				claimed := again(func() (err error) {
					if mine, err := store.Tasks(t.Context(), "s", teamstore.Filter{Status: teamstore.InProgress, Owner: name}); err != nil || len(mine) > 0 {
						if err == nil { // the claim whose answer did not come
							task = mine[0]
						}
						return err
					}
					task, err = teamstore.Claim(t.Context(), store, "s", name, time.Minute)
					return err
				})
				if !claimed {
					return
				}
				again(func() error {
					b, err := quotas.Reserve(t.Context(), quotatest.Reservation(task.ID, 0.01, 0.01))
					if err == nil && (b.Granted != 0.01 || b.Spent+b.Reserved > 1) {
						t.Errorf("granted: %+v", b)
					}
					return err
				})
				if err := quotas.Settle(t.Context(), "b", task.ID, 0.01); err != nil {
					t.Logf("the settling of %s: %v", task.ID, err) // nobody tries it again
				}
				again(func() error {
					_, err := store.Send(t.Context(), "s", teamstore.Message{ID: task.ID, From: name, To: "lead", Content: "done"})
					return err
				})
				again(func() error {
					_, err := store.UpdateTask(t.Context(), "s", task.ID, teamstore.Change{Status: teamstore.Completed, Holder: name})
					if done, failed := store.Task(t.Context(), "s", task.ID); failed == nil && done.Status == teamstore.Completed {
						return nil
					}
					return err
				})
			}
		})
	}
	for range 2 {
		time.Sleep(150 * time.Millisecond)
		own.Kill()
		if err := own.Begin(); err != nil {
			t.Fatal(err)
		}
	}
	all.Wait()
	list, err := lead.Tasks(t.Context(), "s", teamstore.Filter{Status: teamstore.Completed})
	if err != nil || len(list) != tasks {
		t.Errorf("%d of %d tasks are done, %v", len(list), tasks, err)
	}
	heard := map[string]int{}
	err = lead.Take(t.Context(), "s", "lead", func(mail []teamstore.Message) error {
		for _, m := range mail {
			heard[m.ID]++
		}
		return nil
	})
	if err != nil || len(heard) != tasks {
		t.Errorf("%d of %d reports came, %v", len(heard), tasks, err)
	}
	for id, n := range heard {
		if n != 1 {
			t.Errorf("the report about %s came %d times", id, n)
		}
	}
	b, err := dbs[1].Quota().Balance(t.Context(), "b")
	if total := b.Spent + b.Reserved; err != nil || total < tasks*0.01-1e-9 || total > tasks*0.01+1e-9 {
		t.Errorf("$%v is spent or reserved for %d calls at $0.01, %v", total, tasks, err)
	}
}
