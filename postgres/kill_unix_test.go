//go:build unix

package postgres_test

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
	"github.com/openagent-go/agent/quota"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// workerVar makes this program a worker of the database that it names.
const workerVar = "TEST_WORKER"

const killBeat = 700 * time.Millisecond

// workProcess is a worker process. SIGTERM drains it.
func workProcess(url string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	db, err := postgres.Open(ctx, url, postgres.Options{Lease: killBeat})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer db.Close()
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer pool.Close()
	w := &durable.Worker{Backend: db, Linger: -1, Agent: func(_ context.Context, at durable.Where) (durable.Hosted, error) {
		a := killedAgent(at.Session, func(tool, call string) error {
			_, err := pool.Exec(context.Background(), `INSERT INTO ran VALUES ($1, $2)`, tool, call)
			return err
		})
		a.Quota = killedAccount(db)
		return durable.Hosted{Agent: a}, nil
	}}
	if err := postgres.Run(ctx, db, w, postgres.RunOptions{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// killedAccount returns the account that pays for the calls of all workers.
func killedAccount(db *postgres.DB) *quota.Account {
	return &quota.Account{Store: db.Quota(), Key: "kills", USD: 1000}
}

// An agentOf makes the agent of a session. ran notes that a call runs.
type agentOf func(session string, ran func(tool, call string) error) *agent.Agent

// killedAgent returns an agent that looks something up, makes a note and charges twice.
func killedAgent(session string, ran func(tool, call string) error) *agent.Agent {
	type none struct{}
	made := func(spec tool.Spec) tool.Tool {
		return tool.New(spec, func(ctx context.Context, call tool.Call, _ none) (*tool.Result, error) {
			if err := ran(spec.Name, session+"/"+call.ID); err != nil {
				return nil, err
			}
			time.Sleep(40 * time.Millisecond)
			return tool.Text("done"), nil
		})
	}
	steps := [][]string{{"lookup", "note"}, {"charge"}, {"lookup"}, {"charge"}}
	model := &llmtest.Model{Facts: llm.Info{Window: 200_000, Price: &llm.Price{Input: 3, Output: 15}}, Rule: func(r *llmtest.Request, _ int) llmtest.Step {
		turn := 0
		for _, m := range r.Messages {
			switch {
			case m.Role == llm.Assistant:
				turn++
			case strings.HasPrefix(m.Text(), "do "):
				turn = 0
			}
		}
		if turn >= len(steps) {
			return llmtest.Step{Text: "done", Delay: 20 * time.Millisecond}
		}
		var uses []llm.ToolUse
		for _, name := range steps[turn] {
			uses = append(uses, llmtest.Use("", name, none{}))
		}
		step := llmtest.Call(uses...)
		step.Delay = 20 * time.Millisecond
		return step
	}}
	return &agent.Agent{Program: "kills", Model: model, Permissions: permission.Policy{Mode: permission.Bypass}, Tools: []tool.Tool{
		made(tool.Spec{Name: "lookup", ReadOnly: true}), made(tool.Spec{Name: "note", Idempotent: true}), made(tool.Spec{Name: "charge"})}}
}

// factCounts counts facts of a session.
type factCounts struct {
	resumed, unknown, calls int
	usd                     float64 // of the answers
}

func (c *factCounts) add(n factCounts) {
	c.resumed, c.unknown, c.calls, c.usd = c.resumed+n.resumed, c.unknown+n.unknown, c.calls+n.calls, c.usd+n.usd
}

// validFacts counts facts, and holds that each call has one result.
func validFacts(t *testing.T, store session.Store, id string) (n factCounts) {
	t.Helper()
	results := map[string]int{}
	for e, err := range store.Read(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch f := e.Data.(type) {
		case event.Resumed:
			n.resumed++
		case event.AssistantMessage:
			n.calls += len(f.Response.Message.ToolUses())
			if f.CostUSD != nil {
				n.usd += *f.CostUSD
			}
		case event.ToolResult:
			if results[f.Call]++; f.Cause != "" {
				n.unknown++
			}
		}
	}
	if len(results) != n.calls {
		t.Errorf("%s: %d calls have %d results", id, n.calls, len(results))
	}
	for call, times := range results {
		if times != 1 {
			t.Errorf("%s: call %s has %d results", id, call, times)
		}
	}
	return n
}

// startWorker starts a worker process.
func startWorker(t *testing.T, url string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), workerVar+"="+url, "GORACE=atexit_sleep_ms=0")
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c
}

// TestKilledProcesses kills worker processes at random moments. KILLS says how often; 6 is
// the default, because [TestKilledInPhases] kills more.
func TestKilledProcesses(t *testing.T) {
	kills := 6
	if n, err := strconv.Atoi(os.Getenv("KILLS")); err == nil {
		kills = n
	}
	if server == nil {
		t.Skip(pgtest.ErrNone)
	}
	t.Parallel()
	url := server.Database(t)
	db := connect(t, url, postgres.Options{Lease: killBeat})
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(t.Context(), `CREATE TABLE ran (tool text, call text)`); err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d, %d kills", seed, kills)
	random := rand.New(rand.NewPCG(seed, 0))
	client := &durable.Client{Backend: db, Engine: db.Engine()}
	workers := []*exec.Cmd{startWorker(t, url), startWorker(t, url), startWorker(t, url)}
	sent := map[string]string{}
	const sessions = 6
	for i := range kills {
		for range 2 {
			id := fmt.Sprint("s", random.IntN(sessions))
			prompt, err := client.Send(t.Context(), id, "", durable.Prompt{Text: fmt.Sprint("do ", i)})
			if err != nil {
				t.Fatal(err)
			}
			sent[prompt] = id
		}
		time.Sleep(time.Duration(100+random.IntN(300)) * time.Millisecond)
		n := random.IntN(len(workers))
		_ = workers[n].Process.Kill()
		_ = workers[n].Wait()
		workers[n] = startWorker(t, url)
	}
	for prompt, id := range sent {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		end, err := client.Wait(ctx, id, prompt)
		stop()
		if err != nil || end.Reason != event.Completed {
			t.Errorf("prompt %s of %s: %s, %v", prompt, id, end.Reason, err)
		}
	}
	var most, charges int
	err = pool.QueryRow(t.Context(), `SELECT coalesce(max(n), 0), count(*) FROM (SELECT count(*) n FROM ran WHERE tool = 'charge' GROUP BY call) c`).Scan(&most, &charges)
	if err != nil || most > 1 {
		t.Errorf("a charge ran %d times, %v", most, err)
	}
	var sum factCounts
	for _, id := range slices.Compact(slices.Sorted(maps.Values(sent))) {
		sum.add(validFacts(t, db.Store("", nil), id))
	}
	// What was reserved for calls of workers that died is settled, once: nothing is left, and each costs a little.
	b, err := killedAccount(db).Balance(t.Context())
	if extra := b.Spent - sum.usd; err != nil || b.Reserved != 0 || sum.usd == 0 || extra < -1e-9 || extra > 0.01*float64(kills*sessions) {
		t.Errorf("the account is %+v, %v, for answers of $%v", b, err, sum.usd)
	}
	t.Logf("the account has spent $%.5f for answers of $%.5f", b.Spent, sum.usd)
	t.Logf("%d prompts, %d calls, %d charges; runs were resumed %d times; the outcome of %d calls is not known", len(sent), sum.calls, charges, sum.resumed, sum.unknown)
	for _, w := range workers { // and they end when they are asked to
		_ = w.Process.Signal(syscall.SIGTERM)
		if err := w.Wait(); err != nil {
			t.Errorf("a worker that was asked to end: %v", err)
		}
	}
}
