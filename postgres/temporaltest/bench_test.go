//go:build unix

package temporaltest

import (
	"context"
	"fmt"
	"iter"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/postgres/internal/pgtest"
	"github.com/openagent-go/agent/tool"
)

// database returns an empty database for a benchmark.
func database(b *testing.B) string {
	b.Helper()
	if server == nil {
		b.Skip(pgtest.ErrNone)
	}
	return server.Database(b) + "&pool_max_conns=24"
}

// each runs a benchmark with the engines. That on Temporal needs a server.
func each(b *testing.B, run func(b *testing.B, e engine)) {
	b.Run("table", func(b *testing.B) { run(b, table()) })
	b.Run("temporal", func(b *testing.B) { run(b, onTemporal(dialed(b), newQueue())) })
}

// work starts a worker with an agent, and returns a client with a connection of its own.
func work(b *testing.B, e engine, url string, a *agent.Agent) *durable.Client {
	b.Helper()
	db := connect(b, url, beat)
	w := &durable.Worker{Backend: db, Agent: func(context.Context, durable.Where) (durable.Hosted, error) { return durable.Hosted{Agent: a}, nil }}
	ctx, stop := context.WithCancel(context.Background())
	var working sync.WaitGroup
	working.Go(func() {
		if err := e.run(ctx, w); err != nil {
			b.Error(err)
		}
	})
	b.Cleanup(func() { stop(); working.Wait() })
	own := connect(b, url, beat)
	c := &durable.Client{Backend: own, Engine: e.wake(own)}
	prompt(b, c, "warm", "go") // pollers and connections
	return c
}

func prompt(b *testing.B, c *durable.Client, session, text string) {
	b.Helper()
	if end, err := c.Prompt(b.Context(), session, "", text); err != nil || end.Reason != event.Completed {
		b.Fatal(session, end.Reason, end.Message, err)
	}
}

// report reports quantiles of times in milliseconds.
func report(b *testing.B, all []time.Duration) {
	b.Helper()
	slices.Sort(all)
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	b.ReportMetric(ms(all[len(all)/10]), "p10-ms") // says more than the median on a busy machine
	b.ReportMetric(ms(all[len(all)/2]), "p50-ms")
	b.ReportMetric(ms(all[len(all)*99/100]), "p99-ms")
	b.ReportMetric(0, "ns/op")
}

type number struct {
	N int `json:"n"`
}

// reader has a tool that returns at once, and a model that calls it as often as the prompt says.
func reader(asked func()) *agent.Agent {
	read := tool.New(tool.Spec{Name: "read", ReadOnly: true}, func(context.Context, tool.Call, number) (*tool.Result, error) { return tool.Text("done"), nil })
	return &agent.Agent{Program: "bench", Tools: []tool.Tool{read}, Permissions: permission.Policy{Mode: permission.Bypass}, Budget: agent.Budget{Turns: 5000},
		Model: &llmtest.Model{Rule: func(r *llmtest.Request, _ int) llmtest.Step {
			if asked != nil {
				asked()
			}
			turn, want := 0, 0
			for _, m := range slices.Backward(r.Messages) {
				if m.Role == llm.Assistant {
					turn++
				} else if n, err := fmt.Sscanf(m.Text(), "%d turns", &want); n == 1 && err == nil {
					break
				}
			}
			if turn+1 < want {
				return llmtest.Call(llmtest.Use("", "read", number{turn}))
			}
			return llmtest.Say("done")
		}}}
}

// BenchmarkTurn runs prompts of 100 turns with a call each, in process and on both engines, all
// with sessions in PostgreSQL.
func BenchmarkTurn(b *testing.B) {
	const turns = 100
	each := func(b *testing.B, do func(session string)) {
		do("warm")
		n := 0
		for b.Loop() {
			n++
			do(fmt.Sprint("s", n))
		}
		b.ReportMetric(float64(b.Elapsed())/float64(time.Millisecond)/float64(b.N*turns), "ms/turn")
	}
	text := fmt.Sprint(turns, " turns")
	b.Run("in process", func(b *testing.B) {
		a := reader(nil)
		a.Sessions = connect(b, database(b), beat).Store("", nil)
		each(b, func(id string) {
			s := a.Session(id)
			if _, err := s.Prompt(b.Context(), text); err != nil {
				b.Fatal(err)
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		})
	})
	on := func(b *testing.B, e engine) {
		c := work(b, e, database(b), reader(nil))
		each(b, func(id string) { prompt(b, c, id, text) })
	}
	b.Run("table", func(b *testing.B) { on(b, table()) })
	b.Run("temporal", func(b *testing.B) { on(b, onTemporal(dialed(b), newQueue())) })
}

// BenchmarkFirstRequest prompts an idle session until the model is asked: a new session, and one
// with 1,000 turns. Beside it is a workflow with one empty activity, from its start to its result.
func BenchmarkFirstRequest(b *testing.B) {
	b.Run("bare workflow", func(b *testing.B) {
		const bare = "bare"
		c, queue := dialed(b), newQueue()
		w := worker.New(c, queue, worker.Options{})
		w.RegisterActivityWithOptions(func(context.Context) error { return nil }, activity.RegisterOptions{Name: bare})
		w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
			ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
			return workflow.ExecuteActivity(ctx, bare).Get(ctx, nil)
		}, workflow.RegisterOptions{Name: bare})
		if err := w.Start(); err != nil {
			b.Fatal(err)
		}
		defer w.Stop()
		var all []time.Duration
		for b.Loop() {
			at := time.Now()
			run, err := c.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{TaskQueue: queue}, bare)
			if err == nil {
				err = run.Get(b.Context(), nil)
			}
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, time.Since(at))
		}
		report(b, all)
	})
	for _, turns := range []int{0, 1000} {
		b.Run(fmt.Sprint(turns, " turns"), func(b *testing.B) {
			each(b, func(b *testing.B, e engine) { firstRequest(b, e, turns) })
		})
	}
}

func firstRequest(b *testing.B, e engine, turns int) {
	asked := make(chan time.Time, 1)
	c := work(b, e, database(b), reader(func() {
		select {
		case asked <- time.Now():
		default:
		}
	}))
	if turns > 0 {
		prompt(b, c, "s", fmt.Sprint(turns, " turns"))
	}
	<-asked
	var all []time.Duration
	for n := 0; b.Loop(); n++ {
		id := "s"
		if turns == 0 {
			id += strconv.Itoa(n)
		}
		time.Sleep(20 * time.Millisecond) // until the worker has left the session
		at := time.Now()
		sent, err := c.Send(b.Context(), id, "", durable.Prompt{Text: "go"})
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, (<-asked).Sub(at))
		if _, err := c.Wait(b.Context(), id, sent); err != nil {
			b.Fatal(err)
		}
	}
	report(b, all)
}

// BenchmarkOnRecord sends commands from another connection, until that sees the fact.
func BenchmarkOnRecord(b *testing.B) {
	begun := make(chan struct{}, 1)
	hold := tool.New(tool.Spec{Name: "hold", ReadOnly: true}, func(ctx context.Context, _ tool.Call, _ number) (*tool.Result, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	write := tool.New(tool.Spec{Name: "write"}, func(context.Context, tool.Call, number) (*tool.Result, error) { return tool.Text("done"), nil })
	a := &agent.Agent{Program: "bench", Tools: []tool.Tool{hold, write}, Permissions: permission.Policy{Allow: []permission.Rule{"hold"}},
		Model: &llmtest.Model{Rule: func(r *llmtest.Request, _ int) llmtest.Step {
			if last := r.Messages[len(r.Messages)-1].Text(); last == "hold" || last == "write" {
				return llmtest.Call(llmtest.Use("", last, number{1}))
			}
			return llmtest.Say("done")
		}}}
	each(b, func(b *testing.B, e engine) {
		for _, what := range []string{"steer", "interrupt", "decide"} {
			b.Run(what, func(b *testing.B) {
				c := work(b, e, database(b), a)
				var all []time.Duration
				for n := 0; b.Loop(); n++ {
					all = append(all, onRecord(b, c, fmt.Sprint("s", n), what, begun))
				}
				report(b, all)
			})
		}
	})
}

// onRecord returns the time from one command to its fact.
func onRecord(b *testing.B, c *durable.Client, session, what string, begun <-chan struct{}) time.Duration {
	var sending sync.WaitGroup
	defer sending.Wait()
	send := func(id string, cmd durable.Command) { // the fact may be there before the engine has answered
		sending.Go(func() {
			if _, err := c.Send(b.Context(), session, id, cmd); err != nil {
				b.Error(err)
			}
		})
	}
	text := "hold"
	if what == "decide" {
		text = "write"
	}
	send("p", durable.Prompt{Text: text})
	var at time.Time
	var took time.Duration
	if what != "decide" {
		<-begun
		time.Sleep(20 * time.Millisecond)
		at = time.Now()
		if what == "steer" {
			send("m", durable.Message{Text: "also this"})
		} else {
			send("", durable.Interrupt{Prompt: "p"})
		}
	}
	for e, err := range c.Events(b.Context(), session, 0) {
		if err != nil {
			b.Fatal(err)
		}
		seen := false
		switch f := e.Data.(type) {
		case event.PermissionRequest:
			if e.Seq != 0 || at.IsZero() {
				time.Sleep(20 * time.Millisecond)
				at = time.Now()
				send("", durable.Decide{Call: f.Call.ID, Decision: permission.Allow()})
			}
		case fact.Answered:
			seen = what == "decide"
		case event.UserMessage:
			seen = what == "steer" && f.ID == "m"
		case fact.Stopped:
			seen = what == "interrupt"
		case event.RunEnd:
			return took
		}
		if seen && took == 0 {
			took = time.Since(at)
			if what == "steer" {
				send("", durable.Interrupt{Prompt: "p"})
			}
		}
	}
	return took
}

// stamps is a model whose answer is the time of each of its pieces.
type stamps struct {
	pieces int
	every  time.Duration
}

func (stamps) Name() string { return "stamps" }

func (s stamps) Stream(_ context.Context, r *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		var text strings.Builder
		for i := range s.pieces {
			d := llm.Delta{Text: fmt.Sprintf("%020d", time.Now().UnixNano())}
			text.WriteString(d.Text)
			if i == 0 {
				d.Block = llm.Text{}
			}
			if !yield(d, nil) {
				return
			}
			time.Sleep(s.every)
		}
		yield(llm.Delta{Done: &llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: text.String()}}}, Stop: llm.EndTurn}}, nil)
	}
}

// BenchmarkDelta shows the pieces of answers to readers on another connection: of one session, and
// of 64 at once, with 50 pieces a second each.
func BenchmarkDelta(b *testing.B) {
	for _, sessions := range []int{1, 64} {
		b.Run(fmt.Sprint(sessions), func(b *testing.B) {
			c := work(b, table(), database(b), &agent.Agent{Model: stamps{50, 20 * time.Millisecond}})
			var mu sync.Mutex
			var all []time.Duration
			round := 0
			for b.Loop() {
				round++
				var readers sync.WaitGroup
				for i := range sessions {
					id := fmt.Sprint("s", round, "-", i)
					if _, err := c.Send(b.Context(), id, "", durable.Prompt{Text: "go"}); err != nil {
						b.Fatal(err)
					}
					readers.Go(func() {
						for e, err := range c.Events(b.Context(), id, 0) {
							if err != nil {
								b.Error(err)
								return
							}
							now := time.Now()
							switch d := e.Data.(type) {
							case event.TextDelta:
								mu.Lock()
								for stamp := range slices.Chunk([]byte(d.Text), 20) {
									if n, err := strconv.ParseInt(string(stamp), 10, 64); err == nil {
										all = append(all, now.Sub(time.Unix(0, n)))
									}
								}
								mu.Unlock()
							case event.RunEnd:
								return
							}
						}
					})
				}
				readers.Wait()
			}
			b.ReportMetric(float64(len(all))/float64(b.N*sessions*50)*100, "%seen")
			report(b, all)
		})
	}
}

// BenchmarkKilled kills the process that has a session, until another one continues its run. The
// times are in heartbeats.
func BenchmarkKilled(b *testing.B) {
	run := func(b *testing.B, queue string) {
		url := database(b)
		pool := ranTable(b, url)
		db := connect(b, url, beat)
		c := &durable.Client{Backend: db, Engine: db.Engine()}
		if queue != "" {
			c.Engine = onTemporal(dialed(b), queue).wake(db)
		}
		workers := map[string]*exec.Cmd{}
		start := func() {
			w := startWorker(b, url, queue)
			workers[strconv.Itoa(w.Process.Pid)] = w
		}
		start()
		start()
		var all []float64
		for n := 0; b.Loop(); n++ {
			prompt(b, c, "warm", "do it")
			time.Sleep(2 * time.Second) // both workers are up
			id := fmt.Sprint("s", n)
			if _, err := c.Send(b.Context(), id, "", durable.Prompt{Text: "do it"}); err != nil {
				b.Fatal(err)
			}
			var killed time.Time
			for e, err := range c.Events(b.Context(), id, 0) {
				if err != nil {
					b.Fatal(err)
				}
				if _, called := e.Data.(event.AssistantMessage); called && killed.IsZero() {
					var holder string
					if err := pool.QueryRow(b.Context(), `SELECT worker FROM openagent.sessions WHERE id = $1`, id).Scan(&holder); err != nil || workers[holder] == nil {
						b.Fatal(holder, err)
					}
					_ = workers[holder].Process.Kill()
					_ = workers[holder].Wait()
					delete(workers, holder)
					killed = time.Now()
				}
				if _, on := e.Data.(event.Resumed); on {
					all = append(all, float64(time.Since(killed))/float64(beat))
				}
				if _, over := e.Data.(event.RunEnd); over {
					break
				}
			}
			start()
		}
		if len(all) != b.N {
			b.Fatalf("%d of %d runs were resumed", len(all), b.N)
		}
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], "p50-heartbeats")
		b.ReportMetric(all[len(all)-1], "most-heartbeats")
		b.ReportMetric(0, "ns/op")
	}
	b.Run("table", func(b *testing.B) { run(b, "") })
	b.Run("temporal", func(b *testing.B) { dialed(b); run(b, newQueue()) })
}
