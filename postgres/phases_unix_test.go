//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/postgres"
	sessions "github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// Variables that make this program another one than the tests.
const (
	phasesVar = "TEST_PHASES" // a worker or a client that plans of table plan kill or stop
	clientVar = "TEST_CLIENT" // a client that prompts this session, in place of a worker
)

const phaseLease = 500 * time.Millisecond

// phases are the moments in which processes are killed or stopped.
var phases = []string{"model", "read", "idempotent", "write", "hook", "compaction", "checkpoint", "child", "decide", "bell", "settle"}

// A saboteur kills or stops its own process in the phase that table plan names for a session.
type saboteur struct{ pool *pgxpool.Pool }

// enter is called when a session comes to a phase.
func (s saboteur) enter(session, phase string) { _ = s.call(session, phase, "", "") }

// call is called when a call runs, which is a phase. Both are noted at once.
func (s saboteur) call(session, phase, tool, call string) error {
	var act *string
	err := s.pool.QueryRow(context.Background(), `WITH ran AS (INSERT INTO ran SELECT $4, $5 WHERE $4 <> ''),
		plan AS (UPDATE plan SET pid = $3 WHERE session = $1 AND phase = $2 AND pid IS NULL RETURNING act)
		SELECT (SELECT act FROM plan)`, session, phase, os.Getpid(), tool, call).Scan(&act)
	if err != nil || act == nil {
		return err
	}
	s.act(*act)
	return nil
}

// act kills or stops this process.
func (s saboteur) act(act string) {
	if act == "stop" {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		time.Sleep(time.Millisecond) // the signal comes to the whole process
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

type statementKey struct{}

// TraceQueryStart implements [pgx.QueryTracer]: some phases are before or after a statement.
func (s saboteur) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	switch {
	case strings.Contains(d.SQL, "INTO openagent.wakes"):
		s.enter(d.Args[0].(string), "bell")
	case strings.Contains(d.SQL, "UPDATE openagent.inbox SET reason = ''") && strings.Contains(d.SQL, "ANY"):
		session, ids := d.Args[0].(string), d.Args[1].([]string)
		if slices.Contains(ids, "p") {
			s.enter(session, "settle")
		}
		if slices.Contains(ids, "decide") {
			return context.WithValue(ctx, statementKey{}, session)
		}
	}
	return ctx
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (s saboteur) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	if session, ok := ctx.Value(statementKey{}).(string); ok {
		s.enter(session, "decide")
	}
}

// agent returns an agent that comes through all phases.
func (s saboteur) agent(session string) *agent.Agent {
	type none struct{}
	made := func(phase string, spec tool.Spec) tool.Tool {
		return tool.New(spec, func(ctx context.Context, call tool.Call, _ none) (*tool.Result, error) {
			if err := s.call(session, phase, spec.Name, session+"/"+call.Session+"/"+call.ID); err != nil {
				return nil, err
			}
			select {
			case <-time.After(30 * time.Millisecond):
				return tool.Text("done"), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
	}
	child := map[string]string{"prompt": "child work", "description": "some work", "subagent_type": "general-purpose"}
	steps := []llmtest.Step{
		llmtest.Call(llmtest.Use("", "lookup", none{}), llmtest.Use("", "note", none{})), llmtest.Call(llmtest.Use("", "charge", none{})),
		llmtest.Call(llmtest.Use("", "Agent", child)), llmtest.Call(llmtest.Use("", "lookup", none{})),
	}
	rule := func(r *llmtest.Request, _ int) llmtest.Step {
		turn, steps, end := 0, steps, "done"
		for _, m := range r.Messages {
			text := m.Text()
			switch {
			case m.Role == llm.Assistant:
				turn++
			case strings.Contains(text, "child work"):
				turn, end, steps = 0, "child done", []llmtest.Step{llmtest.Call(llmtest.Use("", "fee", none{}))}
			case strings.Contains(text, "do refund"):
				turn, steps = 0, []llmtest.Step{llmtest.Call(llmtest.Use("", "refund", none{}))}
			case strings.Contains(text, "do it"):
				turn = 0
			}
		}
		if end == "done" && turn == 1 {
			s.enter(session, "model")
		}
		step := llmtest.Say(end)
		if turn < len(steps) {
			step = steps[turn]
		}
		step.Delay = 10 * time.Millisecond
		return step
	}
	summaries := &llmtest.Model{ID: "summaries", Rule: func(*llmtest.Request, int) llmtest.Step {
		s.enter(session, "compaction")
		return llmtest.Say("They did it.")
	}}
	return &agent.Agent{
		Program: "phases", Model: &llmtest.Model{Rule: rule}, Compaction: &agent.Compaction{Keep: 1, Model: summaries},
		Tools: []tool.Tool{
			made("read", tool.Spec{Name: "lookup", ReadOnly: true}), made("idempotent", tool.Spec{Name: "note", Idempotent: true}),
			made("write", tool.Spec{Name: "charge"}), made("child", tool.Spec{Name: "fee"}), made("refund", tool.Spec{Name: "refund"}), tools.Agent(&subagent.Manager{}),
		},
		Permissions: permission.Policy{Allow: []permission.Rule{"lookup", "note", "charge", "fee", "Agent"}},
		Hooks: []hook.Hook{{On: hook.PreToolUse, Match: "charge", Func: func(context.Context, *hook.Input) (hook.Output, error) {
			s.enter(session, "hook")
			return hook.Output{}, nil
		}}},
		Checkpoint: func(context.Context, agent.CheckpointPlace) (string, error) {
			s.enter(session, "checkpoint")
			return "checkpoint", nil
		},
	}
}

// phaseProcess is a worker, or a client, that table plan kills or stops.
func phaseProcess(url string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	pool, err := pgxpool.New(ctx, url+"&pool_max_conns=4")
	if err != nil {
		return err
	}
	defer pool.Close()
	s := saboteur{pool}
	db, err := postgres.OpenTraced(ctx, url+"&pool_max_conns=8&application_name="+strconv.Itoa(os.Getpid()), postgres.Options{Lease: phaseLease}, s)
	if err != nil && ctx.Err() != nil {
		return nil // it was asked to end before it began
	}
	if err != nil {
		return err
	}
	defer db.Close()
	if session := os.Getenv(clientVar); session != "" {
		_, err := (&durable.Client{Backend: db, Engine: db.Engine()}).Send(ctx, session, "p", durable.Prompt{Text: "do it"})
		return err
	}
	var log io.Writer = io.Discard
	if os.Getenv("TEST_LOG") != "" {
		log = os.Stderr
	}
	w := &durable.Worker{Backend: db, Linger: -1, Log: slog.New(slog.NewTextHandler(log, nil)), Agent: func(_ context.Context, at durable.Where) (durable.Hosted, error) {
		return durable.Hosted{Agent: s.agent(at.Session)}, nil
	}}
	return postgres.Run(ctx, db, w, postgres.RunOptions{})
}

// A fleet is the worker processes of a test.
type fleet struct {
	t   *testing.T
	env []string

	mu    sync.Mutex
	over  bool
	procs map[int]*exec.Cmd
	all   sync.WaitGroup
}

// newFleet starts workers. Those that are killed are started again.
func newFleet(t *testing.T, n int, env ...string) *fleet {
	f := &fleet{t: t, env: env, procs: map[int]*exec.Cmd{}}
	t.Cleanup(func() { f.stop(syscall.SIGKILL) })
	for range n {
		f.add()
	}
	return f
}

// add starts a worker and returns its process id.
func (f *fleet) add(env ...string) int {
	c := exec.Command(os.Args[0])
	c.Env = append(append(append(os.Environ(), "GORACE=atexit_sleep_ms=0"), f.env...), env...)
	c.Stderr = os.Stderr
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return 0
	}
	if err := c.Start(); err != nil {
		f.t.Error(err)
		return 0
	}
	pid := c.Process.Pid
	f.procs[pid] = c
	f.all.Go(func() {
		err := c.Wait()
		f.mu.Lock()
		delete(f.procs, pid)
		f.mu.Unlock()
		status, _ := c.ProcessState.Sys().(syscall.WaitStatus)
		switch {
		case status.Signaled() && status.Signal() == syscall.SIGKILL:
			f.add(env...)
		case status.Signaled() && status.Signal() == syscall.SIGTERM: // it had not begun yet
		case err != nil:
			f.t.Errorf("a worker ended: %v", err)
		}
	})
	return pid
}

// signal sends a signal to a process.
func (f *fleet) signal(pid int, s syscall.Signal) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.procs[pid]; c != nil {
		_ = c.Process.Signal(s)
	}
}

// stop ends all workers and waits for them.
func (f *fleet) stop(s syscall.Signal) {
	f.mu.Lock()
	f.over = true
	for _, c := range f.procs {
		_ = c.Process.Signal(s)
		_ = c.Process.Signal(syscall.SIGCONT)
	}
	f.mu.Unlock()
	f.all.Wait()
}

// tables makes the tables of a test with processes. Table wrote has who appended which fact.
func tables(t *testing.T, pool *pgxpool.Pool) {
	sql(t, pool, `CREATE TABLE ran (tool text, call text)`)
	sql(t, pool, `CREATE TABLE plan (session text, phase text, act text, pid int, continued bool NOT NULL DEFAULT false)`)
	sql(t, pool, `CREATE TABLE wrote (session bigint, seq bigint, epoch bigint, who text)`)
	sql(t, pool, `CREATE FUNCTION wrote() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO wrote SELECT NEW.session, NEW.seq, epoch, current_setting('application_name') FROM openagent.sessions WHERE n = NEW.session; RETURN NEW; END $$`)
	sql(t, pool, `CREATE TRIGGER wrote AFTER INSERT ON openagent.facts FOR EACH ROW EXECUTE FUNCTION wrote()`)
}

// inPhases has a session for each phase in which its process is killed or stopped. It returns how many
// outcomes are not known.
func inPhases(t *testing.T, act string, times int) {
	url := database(t)
	db := connect(t, url, postgres.Options{Lease: phaseLease})
	pool := admin(t, url)
	tables(t, pool)
	seed := rand.Uint64()
	t.Logf("seed %d: %s %d processes", seed, act, times)
	random := rand.New(rand.NewPCG(seed, 0))
	client := &durable.Client{Backend: db, Engine: db.Engine()}
	f := newFleet(t, 3, workerVar+"="+url, phasesVar+"=1")
	ctx, stop := context.WithCancel(t.Context())
	var background sync.WaitGroup
	background.Go(func() { // what the programs of workers do every 30 s
		for ctx.Err() == nil {
			_ = client.Sweep(ctx)
			time.Sleep(200 * time.Millisecond)
		}
	})
	defer background.Wait()
	defer stop()
	for n := 0; n < times; {
		var batch sync.WaitGroup
		for _, i := range random.Perm(len(phases)) {
			if n == times {
				break
			}
			n++
			session, phase := fmt.Sprintf("%s-%d", phases[i], n), phases[i]
			sql(t, pool, `INSERT INTO plan (session, phase, act) VALUES ($1, $2, $3)`, session, phase, act)
			batch.Go(func() { onePhase(t, f, client, pool, session, phase, act) })
			time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
		}
		batch.Wait()
	}
	settled(t, pool)
	f.stop(syscall.SIGTERM)
	checkProcesses(t, db, pool)
}

// settled waits until the inboxes are empty.
func settled(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	within(t, "the inboxes are empty", func() bool {
		var n int
		err := pool.QueryRow(t.Context(), `SELECT count(*) FROM openagent.inbox WHERE reason IS NULL`).Scan(&n)
		return err == nil && n == 0
	})
}

// onePhase has one session, whose process is killed or stopped in a phase.
func onePhase(t *testing.T, f *fleet, client *durable.Client, pool *pgxpool.Pool, session, phase, act string) {
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	fail := func(doing string, err error) bool {
		if err != nil {
			t.Errorf("%s: %s: %v", session, doing, err)
		}
		return err != nil
	}
	send := func(id string, c durable.Command) bool {
		_, err := client.Send(ctx, session, id, c)
		return fail("sending", err)
	}
	switch phase {
	case "bell":
		f.add(clientVar + "=" + session)
	case "decide":
		if send("p", durable.Prompt{Text: "do refund"}) {
			return
		}
		for asked := false; !asked; time.Sleep(20 * time.Millisecond) {
			questions, err := client.Questions(ctx, session)
			if err != nil && !errors.Is(err, sessions.ErrNotFound) && fail("reading questions", err) {
				return
			}
			if asked = len(questions) == 1; asked && send("decide", durable.Decide{Call: questions[0].Call, Decision: permission.Allow()}) {
				return
			}
		}
	default:
		if send("p", durable.Prompt{Text: "do it"}) {
			return
		}
	}
	prompts := []string{"p"}
	if phase == "compaction" {
		if end, err := client.Wait(ctx, session, "p"); fail("waiting", err) || end.Reason != event.Completed {
			return
		}
		if send("c", durable.Compact{}) || send("q", durable.Prompt{Text: "do it"}) {
			return
		}
		prompts = append(prompts, "q")
	}
	var stopped sync.WaitGroup
	defer stopped.Wait()
	if act == "stop" {
		stopped.Go(func() { continueLater(ctx, t, f, client, pool, session, prompts[len(prompts)-1]) })
	}
	for _, id := range prompts {
		if end, err := client.Wait(ctx, session, id); !fail("waiting", err) && end.Reason != event.Completed {
			t.Errorf("%s: prompt %s ended as %s: %s", session, id, end.Reason, end.Message)
		}
	}
}

// continueLater waits until the process of a session has stopped and others have ended the
// prompt. Then it lets the process continue. Nothing that it does then may count.
func continueLater(ctx context.Context, t *testing.T, f *fleet, client *durable.Client, pool *pgxpool.Pool, session, prompt string) {
	pid := 0
	for pid == 0 {
		if err := pool.QueryRow(ctx, `SELECT coalesce(max(pid), 0) FROM plan WHERE session = $1`, session).Scan(&pid); err != nil {
			t.Errorf("%s: %v", session, err)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	f.add() // in place of the one that has stopped
	if _, err := client.Wait(ctx, session, prompt); err != nil {
		t.Errorf("%s: waiting: %v", session, err)
	}
	read := func() (facts []event.Event) {
		for e, err := range client.Backend.Store("", nil).Read(ctx, session, 0) {
			if err != nil {
				t.Errorf("%s: reading: %v", session, err)
				return nil
			}
			facts = append(facts, e)
		}
		return facts
	}
	before := read()
	f.signal(pid, syscall.SIGCONT)
	time.Sleep(2 * phaseLease)
	if after := read(); len(after) != len(before) {
		t.Errorf("%s: %d facts came after a stopped process was continued", session, len(after)-len(before))
	}
	f.signal(pid, syscall.SIGTERM) // there is one in its place
}

// checkProcesses checks what processes that were killed or stopped have left.
func checkProcesses(t *testing.T, db *postgres.DB, pool *pgxpool.Pool) (unknown int) {
	t.Helper()
	count := func(what, query string) {
		t.Helper()
		rows, err := pool.Query(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		list, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || len(list) > 0 {
			t.Errorf("%s: %v, %v", what, list, err)
		}
	}
	// A process may die with another session in the moment before it would come to a phase that does not come again. Of two sessions, that may happen to both.
	count("phases that no process came to", `SELECT phase FROM plan GROUP BY phase HAVING count(*) > count(pid) AND (phase NOT IN ('write', 'child', 'decide') OR count(*) > 2 * count(pid) AND count(*) > 2)`)
	count("calls that may not be repeated and were", `SELECT call FROM ran WHERE tool IN ('charge', 'fee', 'refund') GROUP BY tool, call HAVING count(*) > 1`)
	count("epochs with two writers", `SELECT session || '/' || epoch FROM wrote GROUP BY session, epoch HAVING count(DISTINCT who) > 1`)
	count("facts of an earlier epoch", `SELECT session || '/' || seq FROM (SELECT session, seq, epoch, max(epoch) OVER (PARTITION BY session ORDER BY seq) AS most FROM wrote) w WHERE epoch < most`)
	count("facts without a writer", `SELECT session || '/' || seq FROM openagent.facts f WHERE NOT EXISTS (SELECT FROM wrote w WHERE w.session = f.session AND w.seq = f.seq)`)
	count("commands that are not settled", `SELECT concat_ws(': ', session || '/' || id, reason) FROM openagent.inbox WHERE reason IS DISTINCT FROM ''`)
	var sum factCounts
	list, err := db.Store("", nil).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range list {
		sum.add(validFacts(t, db.Store("", nil), info.Session))
	}
	t.Logf("%d sessions, %d calls; runs were resumed %d times; the outcome of %d calls is not known", len(list), sum.calls, sum.resumed, sum.unknown)
	return sum.unknown
}

// number returns the number that a variable has, or the default.
func number(variable string, byDefault int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return n
	}
	return byDefault
}

// TestKilledInPhases kills processes in each phase of their work. KILLS says how often, 22 is
// the default.
func TestKilledInPhases(t *testing.T) {
	t.Parallel()
	inPhases(t, "kill", number("KILLS", 2*len(phases)))
}

// TestStoppedInPhases stops processes in each phase of their work until others have ended it,
// and then lets them continue.
func TestStoppedInPhases(t *testing.T) {
	t.Parallel()
	inPhases(t, "stop", number("STOPS", len(phases)))
}

// A rolling deploy of all workers under load leaves no call with an unknown outcome.
func TestRollingDeploy(t *testing.T) {
	t.Parallel()
	url := database(t)
	db := connect(t, url, postgres.Options{Lease: phaseLease})
	pool := admin(t, url)
	tables(t, pool)
	client := &durable.Client{Backend: db, Engine: db.Engine()}
	f := newFleet(t, 0, workerVar+"="+url, phasesVar+"=1")
	workers := []int{f.add(), f.add(), f.add()}
	var sent [][2]string
	for i := range number("DEPLOYS", 6) {
		for k := range 4 {
			session := fmt.Sprint("s", (4*i+k)%12)
			id, err := client.Send(t.Context(), session, "", durable.Prompt{Text: "do it"})
			if err != nil {
				t.Fatal(err)
			}
			sent = append(sent, [2]string{session, id})
		}
		time.Sleep(100 * time.Millisecond)
		workers = append(workers[1:], f.add())
		f.signal(workers[0], syscall.SIGTERM)
	}
	for _, p := range sent {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		end, err := client.Wait(ctx, p[0], p[1])
		stop()
		if err != nil || end.Reason != event.Completed {
			t.Errorf("prompt %s of %s ended as %s, %v", p[1], p[0], end.Reason, err)
		}
	}
	settled(t, pool)
	f.stop(syscall.SIGTERM)
	if n := checkProcesses(t, db, pool); n > 0 {
		t.Errorf("a rolling deploy left %d calls with an unknown outcome", n)
	}
}
