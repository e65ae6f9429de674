//go:build unix

package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/postgres"
	"github.com/openagent-go/agent/session"
)

// rowsRead counts the rows of tables that queries of a pool return.
type rowsRead struct {
	mu sync.Mutex
	n  int64
}

// TraceQueryStart implements [pgx.QueryTracer].
func (r *rowsRead) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, rowsKey{}, strings.Contains(d.SQL, "FROM openagent.")) // not those that notify
}

type rowsKey struct{}

// TraceQueryEnd implements [pgx.QueryTracer].
func (r *rowsRead) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryEndData) {
	if ctx.Value(rowsKey{}) == true && d.CommandTag.Select() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.n += d.CommandTag.RowsAffected()
	}
}

// take returns the rows since the last time.
func (r *rowsRead) take() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.n
	r.n = 0
	return n
}

// fill makes sessions that wait for a person, and older and newer ones that do not.
func fill(t testing.TB, s session.Store, idle, waits int) {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range idle + waits {
		id, end := fmt.Sprint("idle", i), event.Data(event.RunEnd{Reason: event.Completed})
		if i >= idle/2 && i < idle/2+waits {
			id, end = fmt.Sprint("waits", i), fact.Authorized{Call: "c1.0", Decision: permission.Decision{Behavior: permission.Asked}}
		}
		h := session.Header{Session: id, Created: at, Dir: "/work"}
		var facts []event.Event
		for n, d := range []event.Data{event.UserMessage{}, end} {
			facts = append(facts, event.Event{Seq: int64(n + 1), Prev: int64(n), Time: at.Add(time.Duration(i) * time.Second), Data: d})
		}
		if err := session.Create(t.Context(), s, h, facts); err != nil {
			t.Fatal(err)
		}
	}
}

// Questions of all sessions, and pages, cost nothing for the sessions that they do not show.
func TestQueryReadsFewRows(t *testing.T) {
	t.Parallel()
	rows := &rowsRead{}
	db, err := postgres.OpenTraced(t.Context(), database(t), postgres.Options{}, rows)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := db.Store("", nil)
	fill(t, s, 200, 4)
	rows.take()
	if q, err := session.Waiting(t.Context(), s); err != nil || len(q) != 4 {
		t.Errorf("%d questions, %v", len(q), err)
	}
	if n := rows.take(); n != 4*(1+1+2) { // its row, its number, its facts
		t.Errorf("four questions took %d rows", n)
	}
	for state, most := range map[session.State]int64{session.StateWaiting: 4, session.StateIdle: 16, "": 16} {
		list, err := session.Query{State: state, Dir: "/work", Limit: 3}.List(t.Context(), s)
		if err != nil || len(list) != 3 {
			t.Errorf("state %q: %d sessions, %v", state, len(list), err)
		}
		if n := rows.take(); n > most {
			t.Errorf("state %q: three sessions took %d rows", state, n)
		}
	}
	if last, err := session.Latest(t.Context(), s); err != nil || last.Session != "idle203" {
		t.Errorf("the latest is %q, %v", last.Session, err)
	}
	if n := rows.take(); n > 16 {
		t.Errorf("the latest session took %d rows", n)
	}
}

// An append without a question changes no column that an index has, so that the row is changed
// in place.
func TestAppendChangesNoIndex(t *testing.T) {
	t.Parallel()
	url := database(t)
	s := connect(t, url, postgres.Options{}).Store("", nil)
	log, err := s.Open(t.Context(), "s", session.Header{})
	if err != nil {
		t.Fatal(err)
	}
	indexed := func() []string {
		return query(t, url, `SELECT a.attname, to_jsonb(s) -> a.attname::text FROM openagent.sessions s, pg_attribute a
			WHERE a.attrelid = 'openagent.sessions'::regclass AND a.attnum IN (SELECT unnest(indkey) FROM pg_index WHERE indrelid = a.attrelid) ORDER BY 1`)
	}
	before := indexed()
	if err := log.Append(t.Context(), 0, true, facts(0, 5)...); err != nil {
		t.Fatal(err)
	}
	if after := indexed(); !slices.Equal(after, before) {
		t.Errorf("an append changed %q to %q", before, after)
	}
	if exprs := query(t, url, `SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = 'openagent.sessions'::regclass AND indexprs IS NOT NULL`); len(exprs) > 0 {
		t.Errorf("indexes of expressions: %q", exprs)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// listed is a store that cannot select sessions.
type listed struct {
	session.Store
	session.Stater
	session.Nester
}

// BenchmarkQuestions lists the questions of 10 sessions among 10,000, and a page of 100, beside
// a store that lists all.
func BenchmarkQuestions(b *testing.B) {
	s := pooled(b).Store("", nil)
	fill(b, s, 10_000, 10)
	for name, s := range map[string]session.Store{"query": s, "list": listed{s, s.(session.Stater), s.(session.Nester)}} {
		b.Run("waiting/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if q, err := session.Waiting(b.Context(), s); err != nil || len(q) != 10 {
					b.Fatal(len(q), err)
				}
			}
		})
		b.Run("page/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if page, err := (session.Query{Limit: 100}).List(b.Context(), s); err != nil || len(page) != 100 {
					b.Fatal(len(page), err)
				}
			}
		})
	}
}

// A search reads only the sessions in which a word of it may be.
func TestFindReadsFewRows(t *testing.T) {
	db := connect(t, database(t), postgres.Options{})
	store := db.Store("w", nil)
	for i := range 20 {
		said := event.UserMessage{Message: llm.Message{Role: llm.User, Content: llm.Blocks{llm.Text{Text: fmt.Sprintf("The colour of number%d is BLUE", i)}}}}
		facts := []event.Event{{Seq: 1, Time: time.Now(), Data: said}}
		if err := session.Create(t.Context(), store, session.Header{Session: fmt.Sprint("s", i)}, facts); err != nil {
			t.Fatal(err)
		}
	}
	ids, err := store.(interface {
		Find(context.Context, string) ([]string, error)
	}).Find(t.Context(), "UMBER1")
	slices.Sort(ids)
	if want := []string{"s1", "s10", "s11", "s12", "s13", "s14", "s15", "s16", "s17", "s18", "s19"}; err != nil || !slices.Equal(ids, want) {
		t.Errorf("%q %v, want %q", ids, err, want)
	}
}
