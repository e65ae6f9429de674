//go:build unix

package postgres_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/postgres"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// The variables of TestScale: how many sessions wait for a person, and how many run. It is
// skipped without the first.
const (
	waitingVar = "SCALE_WAITING"
	runningVar = "SCALE_RUNNING"
)

// TestScale measures a database in which many sessions wait for a person, and many run. What it
// prints is the source of the figures in docs/operations.md:
//
//	SCALE_WAITING=100000 SCALE_RUNNING=5000 go test -run TestScale -v -timeout 30m .
func TestScale(t *testing.T) {
	number := func(name string, byDefault int) int {
		n, err := strconv.Atoi(cmp.Or(os.Getenv(name), strconv.Itoa(byDefault)))
		if err != nil || n < 1 {
			t.Fatalf("%s must be a number above 0", name)
		}
		return n
	}
	if os.Getenv(waitingVar) == "" {
		t.Skip("set " + waitingVar + " to measure")
	}
	waiting, running := number(waitingVar, 0), number(runningVar, 1000)
	if server == nil {
		t.Skip("no PostgreSQL")
	}
	s := newScale(t, running+1000)
	s.perPrompt(t)
	s.decide(t, "a database that is nearly empty", s.ask(t, "early", 30))
	s.fill(t, waiting)
	s.read(t)
	s.decide(t, fmt.Sprint(waiting, " waiting"), ids("w", 1, 200))
	s.wakeMany(t, ids("w", 1001, min(3000, waiting)))
	s.run(t, running)
	s.decide(t, fmt.Sprint(waiting, " waiting, ", running, " running"), ids("w", 201, 300))
	s.churn(t)
}

// A scale is a database with a worker in this process.
type scale struct {
	db     *postgres.DB
	pool   *pgxpool.Pool
	client *durable.Client
}

// newScale starts a worker that has up to max sessions at a time.
func newScale(t *testing.T, max int) *scale {
	url := server.Database(t) + "&pool_max_conns=24"
	db := connect(t, url, postgres.Options{})
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	w := &durable.Worker{Backend: db, Linger: -1, Grace: time.Millisecond, Agent: func(context.Context, durable.Where) (durable.Hosted, error) {
		return durable.Hosted{Agent: scaleAgent()}, nil
	}}
	ctx, stop := context.WithCancel(context.Background())
	var working sync.WaitGroup
	working.Go(func() {
		if err := postgres.Run(ctx, db, w, postgres.RunOptions{Max: max}); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); working.Wait() })
	return &scale{db: db, pool: pool, client: &durable.Client{Backend: db, Engine: db.Engine()}}
}

// scaleAgent has prompts that say, turn N times, ask a person, or wait for a model.
func scaleAgent() *agent.Agent {
	type input struct {
		N int `json:"n"` // equal calls in a row would be taken for a loop
	}
	text := strings.Repeat("A line of an answer that says something. ", 10)
	model := &llmtest.Model{Rule: func(r *llmtest.Request, _ int) llmtest.Step {
		var turns int
		done := len(r.AllResults())
		switch prompt := r.Prompt(); {
		case strings.HasPrefix(prompt, "wait"):
			return llmtest.Step{Delay: 24 * time.Hour}
		case strings.HasPrefix(prompt, "ask") && done == 0, strings.HasPrefix(prompt, "turn ") && func() bool {
			_, _ = fmt.Sscanf(prompt, "turn %d", &turns)
			return done < turns
		}():
			return llmtest.Call(llmtest.Use("", "look", input{done}))
		case strings.HasPrefix(prompt, "ask") && done == 1:
			return llmtest.Call(llmtest.Use("", "refund", input{done}))
		}
		return llmtest.Say(text)
	}}
	result := strings.Repeat("A row of what was found.\n", 20)
	made := func(spec tool.Spec) tool.Tool {
		return tool.New(spec, func(context.Context, tool.Call, input) (*tool.Result, error) { return tool.Text(result), nil })
	}
	return &agent.Agent{Program: "scale", Model: model, Tools: []tool.Tool{made(tool.Spec{Name: "look", ReadOnly: true}), made(tool.Spec{Name: "refund"})},
		Permissions: permission.Policy{Allow: []permission.Rule{"look"}, Ask: []permission.Rule{"refund"}}}
}

// ids returns names with numbers.
func ids(prefix string, from, to int) (out []string) {
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprint(prefix, i))
	}
	return out
}

// all calls do for each id, 16 at a time.
func all(t *testing.T, ids []string, do func(id string) error) {
	t.Helper()
	var wg sync.WaitGroup
	for part := range slices.Chunk(ids, max(1, (len(ids)+15)/16)) {
		wg.Go(func() {
			for _, id := range part {
				if err := do(id); err != nil {
					t.Error(id, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// figure returns the number that a query yields.
func (s *scale) figure(t *testing.T, query string, args ...any) (n int64) {
	t.Helper()
	if err := s.pool.QueryRow(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(query, err)
	}
	return n
}

// until waits until a query yields a number.
func (s *scale) until(t *testing.T, want int64, query string, args ...any) {
	t.Helper()
	for s.figure(t, query, args...) != want {
		time.Sleep(20 * time.Millisecond)
	}
}

func (s *scale) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	if _, err := s.pool.Exec(t.Context(), statement, args...); err != nil {
		t.Fatal(statement, err)
	}
}

const walBytes = `SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint`

// perPrompt measures what a prompt and a turn write.
func (s *scale) perPrompt(t *testing.T) {
	type cost struct{ facts, bytes, wal float64 }
	measure := func(prompt string) cost {
		const n = 50
		var sessions []string
		for i := range n {
			sessions = append(sessions, fmt.Sprint("p", strings.ReplaceAll(prompt, " ", "-"), i))
		}
		wal := s.figure(t, walBytes)
		all(t, sessions, func(id string) error {
			end, err := s.client.Prompt(t.Context(), id, "", prompt)
			if err == nil && end.Reason != event.Completed {
				err = fmt.Errorf("%s", end.Reason)
			}
			return err
		})
		s.until(t, 0, `SELECT count(*) FROM openagent.wakes`)
		mine := ` FROM openagent.facts f JOIN openagent.sessions s ON s.n = f.session WHERE s.id = ANY($1)`
		return cost{float64(s.figure(t, `SELECT count(*)`+mine, sessions)) / n, float64(s.figure(t, `SELECT sum(octet_length(data))`+mine, sessions)) / n,
			float64(s.figure(t, walBytes)-wal) / n}
	}
	one, eleven := measure("say"), measure("turn 10")
	t.Logf("a prompt without tools: %.0f facts, %.1f KB of facts, %.1f KB of WAL", one.facts, one.bytes/1e3, one.wal/1e3)
	t.Logf("a turn more, with one call: %.1f facts, %.1f KB of facts, %.1f KB of WAL", (eleven.facts-one.facts)/10, (eleven.bytes-one.bytes)/1e4, (eleven.wal-one.wal)/1e4)
}

// ask returns new sessions that wait for a person.
func (s *scale) ask(t *testing.T, prefix string, n int) []string {
	sessions := ids(prefix, 1, n)
	began := time.Now()
	all(t, sessions, func(id string) error {
		_, err := s.client.Send(t.Context(), id, "", durable.Prompt{Text: "ask"})
		return err
	})
	s.until(t, 0, `SELECT count(*) FROM openagent.wakes`)
	t.Logf("%d sessions came to a question in %v", n, time.Since(began).Round(time.Millisecond))
	return sessions
}

// call is the call that waits in all sessions that ask.
func (s *scale) call(t *testing.T, id string) string {
	t.Helper()
	questions, err := s.client.Questions(t.Context(), id)
	if err != nil || len(questions) != 1 {
		t.Fatal(id, questions, err)
	}
	return questions[0].Call
}

// decide answers questions one after the other, and waits for the ends of the runs.
func (s *scale) decide(t *testing.T, where string, sessions []string) {
	call := s.call(t, sessions[0])
	var took []time.Duration
	for _, id := range sessions {
		began := time.Now()
		if _, err := s.client.Send(t.Context(), id, "", durable.Decide{Call: call, Decision: permission.Allow()}); err != nil {
			t.Fatal(err)
		}
		for e, err := range s.client.Events(t.Context(), id, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if end, ok := e.Data.(event.RunEnd); ok && end.Reason == event.Completed {
				break
			}
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	t.Logf("%s: decision → end of the run, p50 %v, p99 %v", where, took[len(took)/2].Round(time.Millisecond/10), took[len(took)*99/100].Round(time.Millisecond/10))
}

// fill copies a waiting session n times.
func (s *scale) fill(t *testing.T, n int) {
	s.ask(t, "template", 1)
	began, wal := time.Now(), s.figure(t, walBytes)
	s.exec(t, `INSERT INTO openagent.sessions (space, id, header, summary, last, updated, epoch)
		SELECT '', 'w' || g, replace(header, id, 'w' || g), replace(summary, id, 'w' || g), last, updated, 1 FROM openagent.sessions, generate_series(1, $1::int) g WHERE id = 'template1'`, n)
	s.exec(t, `INSERT INTO openagent.facts SELECT s.n, f.seq, f.prev, f.time, f.type, f.data FROM openagent.sessions s, openagent.facts f
		WHERE s.id LIKE 'w%' AND f.session = (SELECT n FROM openagent.sessions WHERE id = 'template1') ORDER BY s.n, f.seq`)
	s.exec(t, `VACUUM ANALYZE`)
	t.Logf("%d waiting sessions were copied in %v, %d MB of WAL", n, time.Since(began).Round(time.Second), (s.figure(t, walBytes)-wal)>>20)
	per := func(bytes int64) string { return fmt.Sprintf("%d B", bytes/int64(n)) }
	t.Logf("a waiting session: %d facts, %s of facts, %s of summary", s.figure(t, `SELECT last FROM openagent.sessions WHERE id = 'w1'`),
		per(s.figure(t, `SELECT sum(octet_length(data)) FROM openagent.facts`)), per(s.figure(t, `SELECT sum(octet_length(summary) + octet_length(header)) FROM openagent.sessions`)))
	for _, table := range []string{"sessions", "facts"} {
		t.Logf("table %s: %s a session, its indexes %s", table, per(s.figure(t, `SELECT pg_table_size($1)`, "openagent."+table)), per(s.figure(t, `SELECT pg_indexes_size($1)`, "openagent."+table)))
	}
	t.Logf("the database has %d MB", s.figure(t, `SELECT pg_database_size(current_database())`)>>20)
}

// read measures lists and questions.
func (s *scale) read(t *testing.T) {
	timed := func(what string, do func() (int, error)) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		n, err := do()
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(what, err)
		}
		t.Logf("%s: %d in %v, allocates %d MB", what, n, took.Round(time.Millisecond/100), (after.TotalAlloc-before.TotalAlloc)>>20)
	}
	timed("listing all sessions", func() (int, error) { list, err := s.db.Store("", nil).List(t.Context()); return len(list), err })
	timed("questions of one session", func() (int, error) { q, err := s.client.Questions(t.Context(), "w7"); return len(q), err })
	timed("questions of all sessions", func() (int, error) { q, err := s.client.Questions(t.Context()); return len(q), err })
	timed("a page of 100 sessions", func() (int, error) {
		list, err := session.Query{Limit: 100}.List(t.Context(), s.db.Store("", nil))
		return len(list), err
	})
	timed("questions of 100 sessions of a page", func() (int, error) {
		list, err := session.Query{State: session.StateWaiting, Limit: 100}.List(t.Context(), s.db.Store("", nil))
		if err != nil {
			return 0, err
		}
		var ids []string
		for _, info := range list {
			ids = append(ids, info.Session)
		}
		q, err := s.client.Questions(t.Context(), ids...)
		return len(q), err
	})
	timed("looking for forgotten commands", func() (int, error) { list, err := s.db.Unattended(t.Context(), time.Second); return len(list), err })
}

// wakeMany answers many questions at once.
func (s *scale) wakeMany(t *testing.T, sessions []string) {
	if len(sessions) == 0 {
		return
	}
	call := s.call(t, sessions[0])
	began, wal := time.Now(), s.figure(t, walBytes)
	all(t, sessions, func(id string) error {
		_, err := s.client.Send(t.Context(), id, "", durable.Decide{Call: call, Decision: permission.Allow()})
		return err
	})
	sent := time.Since(began)
	s.until(t, 0, `SELECT count(*) FROM openagent.wakes`)
	took := time.Since(began)
	t.Logf("%d sessions answered at once: sent after %v, done after %v, %.0f a second, %.1f KB of WAL each", len(sessions), sent.Round(time.Millisecond), took.Round(time.Millisecond),
		float64(len(sessions))/took.Seconds(), float64(s.figure(t, walBytes)-wal)/1e3/float64(len(sessions)))
}

// run lets sessions wait for a model.
func (s *scale) run(t *testing.T, n int) {
	memory := func() (heap, stack uint64) {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapInuse, m.StackInuse
	}
	heap, stack := memory()
	routines := runtime.NumGoroutine()
	began := time.Now()
	all(t, ids("r", 1, n), func(id string) error {
		_, err := s.client.Send(t.Context(), id, "", durable.Prompt{Text: "wait"})
		return err
	})
	s.until(t, int64(n), `SELECT count(*) FROM openagent.sessions WHERE id LIKE 'r%' AND lease >= now() AND last >= 2`)
	t.Logf("%d sessions run after %v", n, time.Since(began).Round(time.Millisecond))
	time.Sleep(5 * time.Second)
	heap2, stack2 := memory()
	t.Logf("a running session: %d KB of heap, %d KB of stacks, %.1f goroutines", (int64(heap2)-int64(heap))/int64(n)/1024, (int64(stack2)-int64(stack))/int64(n)/1024,
		float64(runtime.NumGoroutine()-routines)/float64(n))
	t.Logf("connections to the database: %d", s.figure(t, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()`))
}

// churn measures what running sessions cost that only wait.
func (s *scale) churn(t *testing.T) {
	const seconds = 30
	cpu := func() time.Duration {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	counters := func(table string) []int64 {
		var out []int64
		for _, column := range []string{"n_tup_upd", "n_tup_hot_upd", "n_dead_tup", "autovacuum_count"} {
			out = append(out, s.figure(t, `SELECT `+column+` FROM pg_stat_user_tables WHERE schemaname = 'openagent' AND relname = $1`, table))
		}
		return append(out, s.figure(t, `SELECT pg_total_relation_size($1)`, "openagent."+table))
	}
	tables := []string{"sessions", "wakes", "facts"}
	before := map[string][]int64{}
	for _, table := range tables {
		before[table] = counters(table)
	}
	wal, used := s.figure(t, walBytes), cpu()
	commits := s.figure(t, `SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()`)
	time.Sleep(seconds * time.Second)
	t.Logf("sessions that only wait for a model, a second: %.0f KB of WAL, %.0f transactions, %.1f %% of a processor in the worker", float64(s.figure(t, walBytes)-wal)/1e3/seconds,
		float64(s.figure(t, `SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()`)-commits)/seconds, 100*(cpu()-used).Seconds()/seconds)
	for _, table := range tables {
		b, a := before[table], counters(table)
		t.Logf("table %s: %d updates a second, %d of them in place; %d dead rows, %d autovacuums, %d KB → %d KB", table, (a[0]-b[0])/seconds, (a[1]-b[1])/seconds, a[2], a[3]-b[3], b[4]>>10, a[4]>>10)
	}
}
