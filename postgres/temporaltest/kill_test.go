//go:build unix

package temporaltest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/postgres"
	"github.com/openagent-go/agent/postgres/internal/pgtest"
	"github.com/openagent-go/agent/tool"
)

// workerVar makes this program a worker of the database that it names. queueVar names the task
// queue; without one the worker is one of the table.
const (
	workerVar = "TEST_WORKER"
	queueVar  = "TEST_QUEUE"
)

// workProcess is a worker process. SIGTERM drains it.
func workProcess(url string) int {
	err := func() error {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		db, err := postgres.Open(ctx, url, postgres.Options{Lease: beat})
		if err != nil {
			return err
		}
		defer db.Close()
		pool, err := pgxpool.New(ctx, url)
		if err != nil {
			return err
		}
		defer pool.Close()
		ran := func(tool, call string) error {
			_, err := pool.Exec(context.Background(), `INSERT INTO ran VALUES ($1, $2)`, tool, call)
			return err
		}
		w := &durable.Worker{Backend: db, Name: strconv.Itoa(os.Getpid()), Linger: -1, Agent: func(_ context.Context, at durable.Where) (durable.Hosted, error) {
			return durable.Hosted{Agent: killedAgent(at.Session, ran)}, nil
		}}
		by := table()
		if queue := os.Getenv(queueVar); queue != "" {
			c, err := dial()
			if err != nil {
				return err
			}
			defer c.Close()
			by = onTemporal(c, queue)
		}
		return by.run(ctx, w)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// killedAgent returns an agent that looks something up, makes a note and charges twice.
func killedAgent(session string, ran func(tool, call string) error) *agent.Agent {
	type none struct{}
	made := func(spec tool.Spec) tool.Tool {
		return tool.New(spec, func(_ context.Context, call tool.Call, _ none) (*tool.Result, error) {
			if err := ran(spec.Name, session+"/"+call.ID); err != nil {
				return nil, err
			}
			time.Sleep(40 * time.Millisecond)
			return tool.Text("done"), nil
		})
	}
	turns := [][]string{{"lookup", "note"}, {"charge"}, {"lookup"}, {"charge"}}
	model := &llmtest.Model{Rule: func(r *llmtest.Request, _ int) llmtest.Step {
		turn := 0
		for _, m := range r.Messages {
			switch {
			case m.Role == llm.Assistant:
				turn++
			case strings.HasPrefix(m.Text(), "do "):
				turn = 0
			}
		}
		step := llmtest.Say("done")
		if turn < len(turns) {
			step = llmtest.Step{}
			for _, name := range turns[turn] {
				step.Calls = append(step.Calls, llmtest.Use("", name, none{}))
			}
		}
		step.Delay = 20 * time.Millisecond
		return step
	}}
	return &agent.Agent{Program: "kills", Model: model, Permissions: permission.Policy{Mode: permission.Bypass}, Tools: []tool.Tool{
		made(tool.Spec{Name: "lookup", ReadOnly: true}), made(tool.Spec{Name: "note", Idempotent: true}), made(tool.Spec{Name: "charge"})}}
}

// startWorker starts a worker process.
func startWorker(tb testing.TB, url, queue string) *exec.Cmd {
	tb.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), workerVar+"="+url, queueVar+"="+queue, "GORACE=atexit_sleep_ms=0")
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c
}

// ranTable makes the table in which worker processes note executions.
func ranTable(tb testing.TB, url string) *pgxpool.Pool {
	tb.Helper()
	pool, err := pgxpool.New(tb.Context(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	if _, err := pool.Exec(tb.Context(), `CREATE TABLE ran (tool text, call text, at timestamptz NOT NULL DEFAULT clock_timestamp())`); err != nil {
		tb.Fatal(err)
	}
	return pool
}

// TestKilledProcesses kills worker processes at random moments. KILLS says how often; 20 is
// the default.
func TestKilledProcesses(t *testing.T) {
	kills := 20
	if n, err := strconv.Atoi(os.Getenv("KILLS")); err == nil {
		kills = n
	}
	if server == nil {
		t.Skip(pgtest.ErrNone)
	}
	c, queue := dialed(t), newQueue()
	t.Parallel()
	url := server.Database(t)
	db := connect(t, url, beat)
	pool := ranTable(t, url)
	seed := rand.Uint64()
	t.Logf("seed %d, %d kills", seed, kills)
	random := rand.New(rand.NewPCG(seed, 0))
	client := &durable.Client{Backend: db, Engine: onTemporal(c, queue).wake(db)}
	workers := []*exec.Cmd{startWorker(t, url, queue), startWorker(t, url, queue), startWorker(t, url, queue)}
	sent := map[string]string{}
	const sessions = 6
	for i := range kills {
		for range 4 {
			id := fmt.Sprint("s", random.IntN(sessions))
			prompt, err := client.Send(t.Context(), id, "", durable.Prompt{Text: fmt.Sprint("do ", i)})
			if err != nil {
				t.Fatal(err)
			}
			sent[prompt] = id
		}
		time.Sleep(time.Duration(100+random.IntN(500)) * time.Millisecond)
		n := random.IntN(len(workers))
		_ = workers[n].Process.Kill()
		_ = workers[n].Wait()
		workers[n] = startWorker(t, url, queue)
	}
	for prompt, id := range sent {
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
		end, err := client.Wait(ctx, id, prompt)
		stop()
		if err != nil || end.Reason != event.Completed {
			t.Errorf("prompt %s of %s: %s, %v", prompt, id, end.Reason, err)
		}
	}
	var most, charges int
	err := pool.QueryRow(t.Context(), `SELECT coalesce(max(n), 0), count(*) FROM (SELECT count(*) n FROM ran WHERE tool = 'charge' GROUP BY call) c`).Scan(&most, &charges)
	if err != nil || most > 1 {
		t.Errorf("a charge ran %d times, %v", most, err)
	}
	resumed, unknown, calls := 0, 0, 0
	for _, id := range slices.Compact(slices.Sorted(maps.Values(sent))) {
		results, wanted := map[string]int{}, 0
		for e, err := range db.Store("", nil).Read(t.Context(), id, 0) {
			if err != nil {
				t.Fatal(err)
			}
			switch f := e.Data.(type) {
			case event.Resumed:
				resumed++
			case event.AssistantMessage:
				wanted += len(f.Response.Message.ToolUses())
			case event.ToolResult:
				if results[f.Call]++; f.Cause != "" {
					unknown++
				}
			}
		}
		calls += wanted
		if len(results) != wanted {
			t.Errorf("%s: %d calls have %d results", id, wanted, len(results))
		}
		for call, n := range results {
			if n != 1 {
				t.Errorf("%s: call %s has %d results", id, call, n)
			}
		}
	}
	t.Logf("%d prompts, %d calls, %d charges; runs were resumed %d times; the outcome of %d calls is not known", len(sent), calls, charges, resumed, unknown)
	for _, w := range workers { // and they end when they are asked to
		_ = w.Process.Signal(syscall.SIGTERM)
		if err := w.Wait(); err != nil {
			t.Errorf("a worker that was asked to end: %v", err)
		}
	}
}
