//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/quotatest"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/postgres"
	"github.com/openagent-go/agent/quota"
	"github.com/openagent-go/agent/session"
)

// payerVar makes this program begin a call in the database that it names, and stand still.
const payerVar = "TEST_PAYER"

// TestQuota tests quotas in a database, with 64 workers that are never granted more than the
// limit.
func TestQuota(t *testing.T) {
	quotatest.Run(t, 64, 6, func(t *testing.T) func() quota.Store {
		url := database(t) + "&pool_max_conns=24"
		return func() quota.Store { return connect(t, url, postgres.Options{}).Quota() }
	})
}

// ownClock gives a database a clock that [setClock] sets.
func ownClock(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool := admin(t, url)
	sql(t, pool, `CREATE SCHEMA own`)
	sql(t, pool, `CREATE TABLE own.clock (ahead interval NOT NULL)`)
	sql(t, pool, `INSERT INTO own.clock VALUES ('0')`)
	sql(t, pool, `CREATE FUNCTION own.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT pg_catalog.now() + ahead FROM own.clock'`)
	sql(t, pool, `CREATE FUNCTION own.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT pg_catalog.clock_timestamp() + ahead FROM own.clock'`)
	sql(t, pool, `ALTER DATABASE `+pool.Config().ConnConfig.Database+` SET search_path = own, pg_catalog, public`)
	return pool
}

func setClock(t *testing.T, pool *pgxpool.Pool, ahead string) {
	t.Helper()
	sql(t, pool, `UPDATE own.clock SET ahead = '`+ahead+`'`)
}

// Only the clock of the database says which day it is and when a reservation expires.
func TestQuotaClock(t *testing.T) {
	url := database(t)
	pool := ownClock(t, url)
	setClock(t, pool, "36 hours")
	db := connect(t, url, postgres.Options{})
	account := &quota.Account{Store: db.Quota(), Key: "ada", Period: quota.Day, USD: 1}
	book := "ada@" + quota.Day(time.Now().Add(36*time.Hour))
	if err := account.Store.Settle(t.Context(), book, "call", 0.5); err != nil {
		t.Fatal(err)
	}
	if b, err := account.Balance(t.Context()); err != nil || b.Spent != 0.5 {
		t.Errorf("the day of the database: %+v, %v", b, err)
	}
	r := quotatest.Reservation("other", 0.1, 0.2)
	r.Book = book
	if b, err := account.Store.Reserve(t.Context(), r); err != nil || b.Granted != 0.2 {
		t.Fatalf("%+v, %v", b, err)
	}
	if b, err := account.Balance(t.Context()); err != nil || b.Reserved != 0.2 {
		t.Errorf("before the expiry: %+v, %v", b, err)
	}
	setClock(t, pool, "38 hours")
	if b, err := account.Store.Balance(t.Context(), book); err != nil || b != (quota.Balance{Spent: 0.6}) {
		t.Errorf("after the expiry: %+v, %v", b, err)
	}
}

// A day may be that of another place than UTC.
func TestQuotaPlace(t *testing.T) {
	url := database(t)
	pool := ownClock(t, url)
	midnight := time.Now().UTC().Truncate(24 * time.Hour).Add(48 * time.Hour)
	setClock(t, pool, fmt.Sprintf("%d seconds", int(time.Until(midnight.Add(-time.Hour)).Seconds()))) // 23:00 in UTC
	db := connect(t, url, postgres.Options{})
	east := quota.DayIn(time.FixedZone("east", 2*3600))
	for _, tt := range []struct {
		name   string
		period func(time.Time) string
		book   string
	}{{"utc", quota.Day, midnight.Add(-time.Hour).Format("2006-01-02")}, {"east", east, midnight.Format("2006-01-02")}} {
		account := &quota.Account{Store: db.Quota(), Key: tt.name, Period: tt.period, USD: 1}
		a := &agent.Agent{Model: priced(), Quota: account}
		if _, err := a.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		books := query(t, url, `SELECT book FROM openagent.balances WHERE spent > 0 AND book LIKE $1`, tt.name+"@%")
		if len(books) != 1 || books[0] != tt.name+"@"+tt.book {
			t.Errorf("%q, want %s", books, tt.book)
		}
	}
}

// priced returns a model whose answers cost at most $0.00903 each.
func priced() *llmtest.Model {
	return &llmtest.Model{Facts: llm.Info{Price: &llm.Price{Input: 3, Output: 15}}, Rule: func(r *llmtest.Request, _ int) llmtest.Step {
		return llmtest.Step{Text: "done", Delay: time.Millisecond, Usage: llm.Usage{Input: 10, Output: min(r.MaxTokens, 600)}}
	}}
}

// Users have limits of their own over all workers: of 64 prompts at once on two machines each
// has as many as its limit pays for.
func TestQuotaOfUsers(t *testing.T) {
	url := database(t) + "&pool_max_conns=24"
	limits := map[string]float64{"ada": 0.1, "eve": 0.06}
	var agents []*agent.Agent
	accounts := map[string]*quota.Account{}
	for range 2 {
		store := connect(t, url, postgres.Options{}).Quota()
		mine := map[string]*quota.Account{}
		for user, usd := range limits {
			mine[user] = &quota.Account{Store: store, Key: user, Period: quota.Day, USD: usd}
			accounts[user] = mine[user]
		}
		agents = append(agents, &agent.Agent{Model: priced(), MaxTokens: 600, Quota: quota.By(func(_ context.Context, session string) quota.Accounts {
			user, _, _ := strings.Cut(session, ".")
			return quota.Accounts{mine[user]}
		})})
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	paid := map[string]float64{}
	for i := range 64 {
		all.Go(func() {
			user := []string{"ada", "eve"}[i/2%2]
			s := agents[i%2].Session(fmt.Sprint(user, ".", i))
			defer s.Close()
			res, err := s.Prompt(t.Context(), "go")
			if err != nil && !errors.Is(err, quota.ErrExhausted) {
				t.Errorf("%s: %v", user, err)
			}
			if err == nil {
				mu.Lock()
				paid[user] += *res.CostUSD
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for user, limit := range limits {
		b, err := accounts[user].Balance(t.Context())
		if err != nil || b.Reserved != 0 || b.Spent > limit || b.Spent < limit-0.01 || math.Abs(b.Spent-paid[user]) > 1e-9 {
			t.Errorf("%s: %+v, %v, for answers of $%v; the limit is $%v", user, b, err, paid[user], limit)
		}
	}
}

// payerOf returns an agent that pays from a database's quota, and that stands still in its
// call if it is told to.
func payerOf(db *postgres.DB, still bool) (*agent.Agent, *quota.Account) {
	m := priced()
	if still {
		m.Rule = func(*llmtest.Request, int) llmtest.Step { return llmtest.Step{Text: "done", Delay: time.Hour} }
	}
	account := &quota.Account{Store: db.Quota(), Key: "ada", USD: 1}
	return &agent.Agent{Program: "payer", Model: m, Sessions: db.Store("payer", nil), Quota: account}, account
}

func payerProcess(url string) int {
	db, err := postgres.Open(context.Background(), url, postgres.Options{Lease: killBeat})
	if err == nil {
		a, _ := payerOf(db, true)
		_, err = a.Session("s").Prompt(context.Background(), "go")
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// A reservation of a process that dies before it settles is settled when the session is
// resumed, and else when it expires.
func TestQuotaKilled(t *testing.T) {
	for name, resume := range map[string]bool{"resumed": true, "expired": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := database(t)
			pool := ownClock(t, url)
			db := connect(t, url, postgres.Options{Lease: killBeat})
			a, account := payerOf(db, false)
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), payerVar+"="+url, "GORACE=atexit_sleep_ms=0")
			c.Stderr = os.Stderr
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			balance := func() quota.Balance {
				t.Helper()
				b, err := account.Balance(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			within(t, "the call has begun", func() bool { return balance().Reserved > 0 })
			_ = c.Process.Kill()
			_ = c.Wait()
			if b := balance(); b.Reserved == 0 || b.Spent != 0 {
				t.Errorf("after the death: %+v", b)
			}
			if !resume {
				setClock(t, pool, "16 minutes")
				if b := balance(); b.Reserved != 0 || b.Spent == 0 || b.Spent > 0.01 {
					t.Errorf("after the expiry: %+v", b)
				}
				return
			}
			s := a.Session("s")
			defer s.Close()
			within(t, "the lease of the session is over", func() bool {
				_, err := s.CanResume(t.Context())
				return !errors.Is(err, session.ErrBusy)
			})
			for _, err := range s.Resume(t.Context()) {
				if err != nil {
					t.Error(err)
				}
			}
			if b := balance(); b.Reserved != 0 || b.Spent < 0.00903 || b.Spent > 0.02 {
				t.Errorf("after the resumption: %+v", b)
			}
		})
	}
}

// Names that the database cannot keep are refused, not cut short.
func TestQuotaNames(t *testing.T) {
	store := connect(t, database(t), postgres.Options{}).Quota()
	for _, book := range []string{"a\x00b", "a\xff"} {
		if err := store.Settle(t.Context(), book, "id", 1); err == nil || !strings.Contains(err.Error(), "UTF-8 without zero bytes") {
			t.Errorf("%q: %v", book, err)
		}
	}
}
