//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/postgres"
	"github.com/openagent-go/agent/postgres/internal/pgtest"
	"github.com/openagent-go/agent/session"
)

// admin returns connections for statements that are not of the program.
func admin(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func sql(t *testing.T, pool *pgxpool.Pool, statement string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// database returns the URL of an empty database.
func database(t *testing.T) string {
	t.Helper()
	if server == nil {
		t.Skip(pgtest.ErrNone)
	}
	return server.Database(t)
}

// Signals above the size of a notification come whole and in their order. Those above 1 MB
// are left out.
func TestLongSignals(t *testing.T) {
	t.Parallel()
	db := open(t, postgres.Options{})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	delta := func(text string) event.Event {
		return event.Event{Session: "s", Data: event.TextDelta{Key: "k", Text: text}}
	}
	var sent []event.Event
	for _, n := range []int{1, 2600, 2700, 1, 3000, 20_000, 5, 60_000, 1, 3000, 1} {
		sent = append(sent, delta(strings.Repeat("ä€\x00\n", n)))
	}
	all := append(sent[:len(sent):len(sent)], delta(strings.Repeat("x", 1<<20)), delta("last"))
	got := make(chan string, 100)
	var reading sync.WaitGroup
	reading.Go(func() {
		for e := range db.Signals(ctx, "s") {
			got <- e.Data.(event.TextDelta).Text
		}
	})
	for listening := false; !listening; { // a first signal has come
		if err := db.Publish(ctx, "s", []event.Event{delta("ready?")}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-got:
			listening = true
		case <-time.After(20 * time.Millisecond):
		}
	}
	if err := db.Publish(ctx, "other", all); err != nil {
		t.Fatal(err)
	}
	if err := db.Publish(ctx, "s", all); err != nil {
		t.Fatal(err)
	}
	next := func() string {
		for {
			select {
			case text := <-got:
				if text != "ready?" {
					return text
				}
			case <-ctx.Done():
				t.Fatal("a signal did not come")
			}
		}
	}
	for i, e := range append(sent, delta("last")) {
		if text := next(); text != e.Data.(event.TextDelta).Text {
			t.Errorf("signal %d came with %d bytes, not %d", i, len(text), len(e.Data.(event.TextDelta).Text))
		}
	}
	stop()
	reading.Wait()
}

func TestConnections(t *testing.T) {
	for url, want := range map[string]int32{"postgres://h/d": 24, "postgres://h/d?pool_max_conns=7": 7, "host=h dbname=d": 24, "host=h pool_max_conns=3": 3} {
		if n, err := postgres.MaxConns(url); err != nil || n != want {
			t.Errorf("%s: %d connections, %v", url, n, err)
		}
	}
}

// A database that has lost its last commits does not give an epoch out twice: the worker that
// has the lost one cannot append after facts that it has not seen.
func TestLostCommits(t *testing.T) {
	t.Parallel()
	url := database(t)
	pool := admin(t, url)
	ctx := t.Context()
	opened := func(worker string) session.Log {
		log, err := connect(t, url, postgres.Options{Lease: time.Hour}).Store(worker, nil).Open(ctx, "s", session.Header{})
		if err != nil {
			t.Fatal(err)
		}
		return log
	}
	add := func(log session.Log, text string) error {
		return log.Append(ctx, log.Last(), true, event.Event{Session: "s", Seq: log.Last() + 1, Prev: log.Last(), Time: time.Now(), Data: event.SessionNamed{Title: text}})
	}
	first := opened("first")
	if err := add(first, "kept"); err != nil {
		t.Fatal(err)
	}
	sql(t, pool, `CREATE TABLE kept AS SELECT * FROM openagent.sessions`)
	sql(t, pool, `UPDATE openagent.sessions SET lease = NULL`)
	lost := opened("lost")
	if err := add(lost, "lost"); err != nil {
		t.Fatal(err)
	}
	sql(t, pool, `UPDATE openagent.sessions s SET epoch = k.epoch, last = k.last, summary = k.summary, lease = NULL FROM kept k`)
	sql(t, pool, `DELETE FROM openagent.facts WHERE seq > 1`)
	third := opened("third")
	if err := add(third, "after"); err != nil {
		t.Fatal(err)
	}
	if err := add(lost, "on top of a fact that it has not seen"); !errors.Is(err, session.ErrLost) {
		t.Errorf("a worker with a lost epoch appended: %v", err)
	}
	if err := add(third, "more"); err != nil {
		t.Error(err)
	}
}

// statements is a tracer that notes statements.
type statements struct {
	mu  sync.Mutex
	all []string
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, d.SQL)
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A NOTIFY within the transaction of an append would let all commits wait for one another. An
// append is one statement without one.
func TestAppendNotifiesNobody(t *testing.T) {
	t.Parallel()
	url := database(t)
	connect(t, url, postgres.Options{})
	traced := &statements{}
	db, err := postgres.OpenTraced(t.Context(), url, postgres.Options{}, traced)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	sql(t, admin(t, url), `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF current_query() ILIKE '%notify%' THEN RAISE 'the append notifies'; END IF; RETURN NEW; END $$`)
	sql(t, admin(t, url), `CREATE TRIGGER refuse BEFORE INSERT ON openagent.facts FOR EACH ROW EXECUTE FUNCTION refuse()`)
	log, err := db.Store("w", nil).Open(t.Context(), "s", session.Header{})
	if err != nil {
		t.Fatal(err)
	}
	traced.mu.Lock()
	traced.all = nil // those that made the tables
	traced.mu.Unlock()
	const appends = 50
	for i := range int64(appends) {
		if err := log.Append(t.Context(), i, true, event.Event{Session: "s", Seq: i + 1, Prev: i, Time: time.Now(), Data: event.SessionNamed{Title: "t"}}); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	traced.mu.Lock()
	defer traced.mu.Unlock()
	for _, statement := range traced.all {
		if strings.Contains(statement, "openagent.facts") {
			if n++; strings.Contains(strings.ToLower(statement), "notify") {
				t.Errorf("an append notifies: %s", statement)
			}
		}
		if s := strings.ToLower(strings.TrimSpace(statement)); s == "begin" || s == "commit" {
			t.Error("an append is a transaction of several statements")
		}
	}
	if n != appends {
		t.Errorf("%d statements for %d appends", n, appends)
	}
}

// A worker that could not give a session back, because the database failed, does not keep it:
// it gives signs of life for the sessions that it works on, not for all that have its name.
func TestNotGivenBack(t *testing.T) {
	t.Parallel()
	url := database(t)
	db := connect(t, url, postgres.Options{Lease: 300 * time.Millisecond})
	pool := admin(t, url)
	sql(t, pool, `CREATE TABLE failing (n int)`)
	sql(t, pool, `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF EXISTS (SELECT FROM failing) AND (TG_OP = 'DELETE' OR NEW.holder = '') THEN RAISE 'the database fails'; END IF; RETURN coalesce(NEW, OLD); END $$`)
	sql(t, pool, `CREATE TRIGGER fail BEFORE UPDATE OR DELETE ON openagent.wakes FOR EACH ROW EXECUTE FUNCTION fail()`)
	sql(t, pool, `INSERT INTO failing VALUES (1)`)
	run(t, db, killedAgent)
	client := &durable.Client{Backend: db, Engine: db.Engine()}
	if end, err := client.Prompt(t.Context(), "s", "", "do it"); err != nil || end.Reason != event.Completed {
		t.Fatalf("the run ended as %s, %v", end.Reason, err)
	}
	time.Sleep(time.Second) // it gives signs of life
	sql(t, pool, `DELETE FROM failing`)
	within(t, "the session is given back", func() bool {
		var n int
		err := pool.QueryRow(t.Context(), `SELECT count(*) FROM openagent.wakes`).Scan(&n)
		return err == nil && n == 0
	})
}

// within waits until a condition holds.
func within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not in time", what)
		}
	}
}

// run lets a worker work in this process until the end of the test.
func run(t *testing.T, db *postgres.DB, made agentOf) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	w := &durable.Worker{Backend: db, Linger: -1, Grace: 5 * time.Second, Agent: func(_ context.Context, at durable.Where) (durable.Hosted, error) {
		return durable.Hosted{Agent: made(at.Session, func(string, string) error { return nil })}, nil
	}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := postgres.Run(ctx, db, w, postgres.RunOptions{}); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { stop(); <-done })
}

// While the disk of the database is full, nothing can be recorded. Runs continue when it has
// room again, and commands that were refused can be sent again.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	url := database(t)
	db := connect(t, url, postgres.Options{Lease: 300 * time.Millisecond})
	pool := admin(t, url)
	sql(t, pool, `CREATE TABLE full_disk (n int)`)
	sql(t, pool, `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF EXISTS (SELECT FROM full_disk) THEN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END IF; RETURN NEW; END $$`)
	for _, table := range []string{"sessions", "facts", "inbox", "wakes"} {
		sql(t, pool, `CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON openagent.`+table+` FOR EACH ROW EXECUTE FUNCTION full_disk()`)
	}
	run(t, db, killedAgent)
	client := &durable.Client{Backend: db, Engine: db.Engine()}
	for i := range 10 {
		if _, err := client.Send(t.Context(), fmt.Sprint("s", i), "p", durable.Prompt{Text: "do it"}); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(50 * time.Millisecond)
	sql(t, pool, `INSERT INTO full_disk VALUES (1)`)
	if _, err := client.Send(t.Context(), "s10", "p", durable.Prompt{Text: "do it"}); err == nil {
		t.Error("a command was kept on a full disk")
	}
	time.Sleep(time.Second)
	sql(t, pool, `DELETE FROM full_disk`)
	if _, err := client.Send(t.Context(), "s10", "p", durable.Prompt{Text: "do it"}); err != nil {
		t.Error(err)
	}
	complete(t, db, client, 11)
}

// complete waits for prompt p of the sessions s0, s1, …, and checks and counts their facts.
func complete(t *testing.T, db *postgres.DB, client *durable.Client, sessions int) (sum factCounts) {
	t.Helper()
	for i := range sessions {
		id := fmt.Sprint("s", i)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		end, err := client.Wait(ctx, id, "p")
		stop()
		if err != nil || end.Reason != event.Completed {
			t.Errorf("the prompt of %s ended as %s, %v", id, end.Reason, err)
		}
		sum.add(validFacts(t, db.Store("", nil), id))
	}
	return sum
}

// The clock of the database alone counts: one that is an hour away from those of the workers
// changes nothing.
func TestClocks(t *testing.T) {
	for _, skew := range []string{"1 hour", "-1 hour"} {
		t.Run(skew, func(t *testing.T) {
			t.Parallel()
			url := database(t)
			pool := admin(t, url)
			sql(t, pool, `CREATE SCHEMA skewed`)
			sql(t, pool, `CREATE FUNCTION skewed.now() RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT pg_catalog.now() + interval '`+skew+`' $$`)
			sql(t, pool, `ALTER DATABASE `+pool.Config().ConnConfig.Database+` SET search_path = skewed, pg_catalog, public`)
			const lease = 300 * time.Millisecond
			first, second := connect(t, url, postgres.Options{Lease: lease}), connect(t, url, postgres.Options{Lease: lease})
			log, err := first.Store("first", nil).Open(t.Context(), "held", session.Header{})
			if err != nil {
				t.Fatal(err)
			}
			for range 20 { // longer than the lease, which is renewed
				if _, err := second.Store("second", nil).Open(t.Context(), "held", session.Header{}); !errors.Is(err, session.ErrBusy) {
					t.Fatalf("a session that another worker has open: %v", err)
				}
				time.Sleep(lease / 5)
			}
			first.Close()
			within(t, "the lease is over", func() bool {
				_, err = second.Store("second", nil).Open(t.Context(), "held", session.Header{})
				return err == nil
			})
			if err := log.Append(t.Context(), 0, true, event.Event{Session: "held", Seq: 1, Time: time.Now(), Data: event.SessionNamed{Title: "t"}}); err == nil {
				t.Error("a worker without the session appended to it")
			}
			run(t, second, killedAgent)
			client := &durable.Client{Backend: second, Engine: second.Engine()}
			for i := range 3 {
				if _, err := client.Send(t.Context(), fmt.Sprint("s", i), "p", durable.Prompt{Text: "do it"}); err != nil {
					t.Fatal(err)
				}
			}
			complete(t, second, client, 3)
		})
	}
}

// An older worker does not touch a session with facts that it does not know, and loses
// nothing of it.
func TestNewerFacts(t *testing.T) {
	t.Parallel()
	url := database(t)
	db := connect(t, url, postgres.Options{Lease: 300 * time.Millisecond})
	pool := admin(t, url)
	client := &durable.Client{Backend: db, Engine: db.Engine()}
	run(t, db, killedAgent)
	if _, err := client.Prompt(t.Context(), "s0", "", "do it"); err != nil {
		t.Fatal(err)
	}
	sql(t, pool, `UPDATE openagent.facts SET type = 'invented' WHERE seq = (SELECT max(seq) FROM openagent.facts)`)
	if _, err := client.Send(t.Context(), "s0", "p", durable.Prompt{Text: "do it"}); err != nil {
		t.Fatal(err)
	}
	within(t, "the worker gives the session back", func() bool {
		var failed int
		err := pool.QueryRow(t.Context(), `SELECT failed FROM openagent.wakes WHERE session = 's0'`).Scan(&failed)
		return err == nil && failed > 1
	})
	for _, err := range db.Store("", nil).Read(t.Context(), "s0", 0) {
		if err != nil && !errors.Is(err, session.ErrVersion) {
			t.Errorf("reading facts of a newer program: %v", err)
		}
	}
	if inbox, err := db.Inbox(t.Context(), "s0"); err != nil || len(inbox) != 1 {
		t.Errorf("the inbox has %d commands, %v", len(inbox), err)
	}
	sql(t, pool, `UPDATE openagent.facts SET type = 'run_end' WHERE type = 'invented'`) // the newer program
	complete(t, db, client, 1)
}
