package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/faultserver"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// ways to cancel a run.
var ways = map[string]func(ctx context.Context, s *agent.Session, cancel context.CancelFunc){
	"interrupt": func(ctx context.Context, s *agent.Session, _ context.CancelFunc) { s.Interrupt(ctx) },
	"context":   func(_ context.Context, _ *agent.Session, cancel context.CancelFunc) { cancel() },
	"twice": func(ctx context.Context, s *agent.Session, cancel context.CancelFunc) {
		s.Interrupt(ctx)
		s.Interrupt(ctx)
		cancel()
		cancel()
		s.Interrupt(ctx)
	},
}

// X1: a run is cancelled while the model is silent, writes text or writes a tool's input.
// The text so far is kept as partial, and the tool does not run.
func TestCancelModel(t *testing.T) {
	for _, p := range providers {
		for name, fault := range map[string]faultserver.Fault{
			"before the header": {End: faultserver.Hang},
			"in the text":       stall(p.text, 2),
			"in the input":      stall(p.input, 1),
		} {
			for way, cancel := range ways {
				t.Run(strings.Join([]string{name, way, p.name}, " "), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						x := newSite(t, p, true, faultserver.First(fault))
						s := x.agent.Session("s")
						defer s.Close()
						x.session = s
						ctx, stop := context.WithCancel(t.Context())
						defer stop()
						go func() {
							time.Sleep(time.Minute)
							cancel(t.Context(), s, stop)
						}()
						start := time.Now()
						res, err := s.Prompt(ctx, "go")
						if !errors.Is(err, agent.ErrInterrupted) || res.Reason != event.Interrupted || time.Since(start) != time.Minute {
							t.Errorf("%+v, %v after %v", res, err, time.Since(start))
						}
						if spoke := name != "before the header"; spoke == (res.Partial == "") || !strings.HasPrefix(said, res.Partial) {
							t.Errorf("partial is %q", res.Partial)
						}
						synctest.Wait() // for what interrupts, so that it does not interrupt the next prompt
						x.goesOn()
						if len(x.writes) != 0 {
							t.Error("a tool ran")
						}
						oneEnd(t, x, 2)
					})
				})
			}
		}
	}
}

// oneEnd checks that each of n runs on record has one end.
func oneEnd(t *testing.T, x *site, n int) {
	t.Helper()
	ends := 0
	for _, e := range history(t, x.store, "s") {
		if _, ok := e.Data.(event.RunEnd); ok {
			ends++
		}
	}
	if ends != n {
		t.Errorf("%d ends for %d runs", ends, n)
	}
}

// X2: a run is cancelled when some of its tools are done, some are running and some have
// not begun. Each call has a result that says so.
func TestCancelTools(t *testing.T) {
	for way, cancel := range ways {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hang := tool.New(tool.Spec{Name: "hang", ReadOnly: true}, func(ctx context.Context, _ tool.Call, _ number) (*tool.Result, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				})
				m := &llmtest.Model{Rule: func(_ *llmtest.Request, n int) llmtest.Step {
					if n > 0 {
						return say("next")
					}
					return uses("double", "hang", "double", "hang", "write", "double")
				}}
				a := &agent.Agent{Model: m, Permissions: bypass, Tools: []tool.Tool{double, hang, write(func(context.Context, tool.Call, int) (*tool.Result, error) {
					t.Error("the write ran")
					return tool.Text("x"), nil
				})}}
				s := a.Session("")
				defer s.Close()
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				go func() {
					synctest.Wait()
					cancel(t.Context(), s, stop)
				}()
				if res, err := s.Prompt(ctx, "go"); !errors.Is(err, agent.ErrInterrupted) {
					t.Fatalf("%+v, %v", res, err)
				}
				synctest.Wait() // for what interrupts
				if _, err := s.Prompt(t.Context(), "again"); err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, b := range m.Requests()[1].Messages[2].Content {
					r := b.(llm.ToolResult)
					kind := r.Content.Text()
					switch {
					case strings.Contains(kind, "not started"):
						kind = "not started"
					case r.IsError:
						kind = "cancelled"
					}
					got = append(got, kind)
				}
				if want := "[0 cancelled 4 cancelled not started not started]"; fmt.Sprint(got) != want {
					t.Errorf("results are %v, want %s", got, want)
				}
			})
		})
	}
}

// X3: a run that is cancelled while a hook, a person or a retry is waited for.
func TestCancelWaits(t *testing.T) {
	wait := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	watch := func(on hook.Event) hook.Hook {
		return hook.Hook{On: on, Timeout: time.Hour, Func: func(ctx context.Context, _ *hook.Input) (hook.Output, error) {
			return hook.Output{}, wait(ctx)
		}}
	}
	for name, change := range map[string]func(a *agent.Agent){
		"hook before": func(a *agent.Agent) { a.Hooks = []hook.Hook{watch(hook.PreToolUse)} },
		"hook after":  func(a *agent.Agent) { a.Hooks = []hook.Hook{watch(hook.PostToolUse)} },
		"person": func(a *agent.Agent) {
			a.Permissions = permission.Policy{}
			a.CanUseTool = func(ctx context.Context, _ tool.Call, _ permission.Decision) (permission.Decision, error) {
				return permission.Decision{}, wait(ctx)
			}
		},
		"retry": func(a *agent.Agent) {
			a.Model = &llmtest.Model{Rule: func(_ *llmtest.Request, n int) llmtest.Step {
				if n == 0 {
					return llmtest.Fail(&llm.APIError{Class: llm.RateLimit, Status: 429, RetryAfter: time.Hour})
				}
				return say("done")
			}}
			a.Retry = &agent.Retry{MaxAfter: 2 * time.Hour}
		},
	} {
		for way, cancel := range ways {
			t.Run(name+" "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					writes := 0
					a := &agent.Agent{Model: byTurn(t, uses("write"), say("done")), Permissions: bypass, Tools: []tool.Tool{
						write(func(context.Context, tool.Call, int) (*tool.Result, error) { writes++; return tool.Text("ok"), nil })}}
					change(a)
					s := a.Session("")
					defer s.Close()
					ctx, stop := context.WithCancel(t.Context())
					defer stop()
					go func() {
						time.Sleep(time.Second)
						cancel(t.Context(), s, stop)
					}()
					start := time.Now()
					res, err := s.Prompt(ctx, "go")
					if !errors.Is(err, agent.ErrInterrupted) || time.Since(start) != time.Second {
						t.Errorf("%+v, %v after %v", res, err, time.Since(start))
					}
					if ran := name == "hook after"; ran != (writes == 1) {
						t.Errorf("%d writes", writes)
					}
					synctest.Wait() // for what interrupts
					if res, err := s.Prompt(t.Context(), "again"); err != nil || res.Text != "done" {
						t.Errorf("the next prompt: %+v, %v", res, err)
					}
				})
			})
		}
	}
}

// X4: a run that is cancelled, in any way, at any of its events, has one end and
// a conversation that goes on, and nothing is written twice.
func TestCancelAnywhere(t *testing.T) {
	ways := map[string]func(ctx context.Context, s *agent.Session, cancel context.CancelFunc){"leave": nil, "context": ways["context"], "twice": ways["twice"]}
	for way, cancel := range ways {
		t.Run(way, func(t *testing.T) {
			for at := 1; ; at++ {
				var mu sync.Mutex
				writes := 0
				a := &agent.Agent{Permissions: bypass, Tools: []tool.Tool{double,
					write(func(context.Context, tool.Call, int) (*tool.Result, error) {
						mu.Lock()
						defer mu.Unlock()
						writes++
						return tool.Text("ok"), nil
					})},
					Model: byTurn(t, llmtest.Step{Text: "Look:", Calls: []llm.ToolUse{llmtest.Use("a", "double", number{1}), llmtest.Use("b", "write", number{2})}}, say("done"), say("more"))}
				s := a.Session("")
				ctx, stop := context.WithCancel(t.Context())
				n, ends, errs := 0, 0, 0
				for e, err := range s.Stream(ctx, "go") {
					if err != nil {
						errs++
						continue
					}
					if _, ok := e.Data.(event.RunEnd); ok {
						ends++
					}
					if n++; n != at {
						continue
					}
					if cancel == nil {
						break
					}
					cancel(t.Context(), s, stop)
				}
				stop()
				res := s.Result()
				if res == nil || cancel != nil && ends != 1 || errs > 1 || writes > 1 {
					t.Fatalf("at event %d: %+v, %d ends, %d errors, %d writes", at, res, ends, errs, writes)
				}
				if res.Reason != event.Interrupted && res.Reason != event.Completed {
					t.Errorf("at event %d: %+v", at, res)
				}
				if again, err := s.Prompt(t.Context(), "again"); err != nil || again.Reason != event.Completed || writes > 1 {
					t.Fatalf("the next prompt after event %d: %+v, %v, %d writes", at, again, err, writes)
				}
				s.Close()
				if n < at {
					return
				}
			}
		})
	}
}

// X5: cancels that race each other and the end of the run.
func TestCancelRaces(t *testing.T) {
	for range 200 {
		a := &agent.Agent{Model: byTurn(t, uses("double"), say("done"), say("more")), Tools: []tool.Tool{double}}
		s := a.Session("")
		ctx, stop := context.WithCancel(t.Context())
		var racers sync.WaitGroup
		ends := 0
		for e, err := range s.Stream(ctx, "go") {
			if err != nil {
				continue
			}
			switch e.Data.(type) {
			case event.ToolStart:
				for range 2 {
					racers.Go(func() { s.Interrupt(t.Context()) })
				}
				racers.Go(stop)
			case event.RunEnd:
				ends++
			}
		}
		racers.Wait()
		stop()
		if ends != 1 {
			t.Fatalf("%d ends", ends)
		}
		if _, err := s.Interrupt(t.Context()); !errors.Is(err, agent.ErrNotRunning) {
			t.Fatalf("interrupting a session at rest: %v", err)
		}
		if _, err := s.Prompt(t.Context(), "again"); err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
}
