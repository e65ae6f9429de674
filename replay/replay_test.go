package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/replay"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

type number struct {
	N int `json:"n"`
}

var (
	double = tool.Func(tool.Spec{Name: "double", ReadOnly: true}, func(_ context.Context, in number) (int, error) { return 2 * in.N, nil })
	write  = tool.Func(tool.Spec{Name: "write"}, func(_ context.Context, in number) (string, error) { return fmt.Sprint("wrote ", in.N), nil })
	fails  = tool.Func(tool.Spec{Name: "fails", ReadOnly: true}, func(context.Context, number) (string, error) { return "", errors.New("no luck") })
	panics = tool.Func(tool.Spec{Name: "panics", ReadOnly: true}, func(context.Context, number) (string, error) { panic("broken") })
	own    = tool.Func(tool.Spec{Name: "own", Aliases: []string{"mine"}, ReadOnly: true}, func(context.Context, number) (string, error) { return "the sub-agent's own", nil })
	long   = tool.Func(tool.Spec{Name: "long", ReadOnly: true}, func(_ context.Context, in number) (string, error) {
		return strings.Repeat("many words in a line\n", 3000+in.N), nil
	})
)

func use(name string, n int) llm.ToolUse { return llmtest.Use("", name, number{n}) }

// recorded is an agent with the tools of the tests, whose model takes the steps.
func recorded(t *testing.T, steps ...llmtest.Step) *agent.Agent {
	return &agent.Agent{Name: "tester", System: "Be brief.", Dir: t.TempDir(), Model: llmtest.Script(steps...), Sessions: session.Memory(), Tools: []tool.Tool{double, write, fails, panics, long},
		Output: &tool.Output{Dir: t.TempDir()}, Retry: &agent.Retry{Base: time.Nanosecond, Cap: time.Nanosecond}}
}

// record runs a prompt in the session "s".
func record(t *testing.T, a *agent.Agent) {
	t.Helper()
	s := a.Session("s")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
}

func replayed(t *testing.T, a *agent.Agent, run func(tool.Call) bool) []replay.Difference {
	t.Helper()
	s := replay.Session{Agent: a, ID: "s", RunTool: run}
	list, err := s.Replay(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func sameSession(t *testing.T, a *agent.Agent, id string) []replay.Difference {
	t.Helper()
	list, err := (&replay.Session{Agent: a, ID: id}).Replay(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func sameAsRecorded(t *testing.T, a *agent.Agent) {
	t.Helper()
	for _, d := range replayed(t, a, nil) {
		t.Errorf("session %s: %s", d.Session, d)
	}
}

// first is the first difference, which must be of the given kind of fact.
func first(t *testing.T, list []replay.Difference, kind, field string) replay.Difference {
	t.Helper()
	if len(list) == 0 {
		t.Fatal("no difference")
	}
	if d := list[0]; d.Kind != kind || d.Field != field {
		t.Fatalf("the first difference is %s, want one in %s of %s", d, field, kind)
	}
	return list[0]
}

// at is the number of the first fact of a kind.
func at(t *testing.T, a *agent.Agent, kind string) int64 {
	t.Helper()
	for e, err := range a.Sessions.Read(t.Context(), "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if event.Type(e.Data) == kind {
			return e.Seq
		}
	}
	t.Fatalf("there is no %s", kind)
	return 0
}

// A tool that returns something else is found at the fact of its result, once it runs for
// real.
func TestChangedResult(t *testing.T) {
	a := recorded(t, llmtest.Call(use("double", 1), use("double", 4)), llmtest.Say("done"))
	record(t, a)
	readOnly := func(call tool.Call) bool { return call.Name == "double" }
	if list := replayed(t, a, readOnly); len(list) > 0 {
		t.Errorf("the same tool: %v", list)
	}
	a.Tools[0] = tool.Func(double.Spec(), func(_ context.Context, in number) (int, error) { return 2*in.N + in.N/4, nil })
	sameAsRecorded(t, a)
	list := replayed(t, a, readOnly)
	d := first(t, list, "tool_result", "result.content[0].text")
	if len(list) != 1 || d.Recorded != `"8"` || d.Replayed != `"9"` {
		t.Errorf("the differences are %v", list)
	}
}

// A rule that now denies a call is shown at the decision about it, also if a person had allowed
// the call.
func TestChangedRule(t *testing.T) {
	for name, allows := range map[string]agent.CanUseToolFunc{
		"by mode": nil,
		"by person": func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
			return permission.Allow(), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := recorded(t, llmtest.Call(use("write", 1)), llmtest.Say("done"))
			if a.CanUseTool = allows; allows == nil {
				a.Permissions.Mode = permission.Bypass
			}
			record(t, a)
			a.CanUseTool = nil
			sameAsRecorded(t, a)
			a.Permissions.Deny = []permission.Rule{"write"}
			// The tool is no longer offered, and its call is denied.
			list := replayed(t, a, nil)
			first(t, list, "configured", "tools[write]")
			a.Permissions.Deny = nil
			a.Deciders = []permission.Decider{denies("write")}
			list = replayed(t, a, nil)
			d := first(t, list, "authorized", "decision.behavior")
			if d.Seq != at(t, a, "authorized") || d.Replayed != `"deny"` || d.Recorded == `"deny"` {
				t.Errorf("the difference is %+v", d)
			}
		})
	}
}

// denies denies calls of a tool.
type denies string

func (d denies) Decide(r permission.Request) permission.Decision {
	if r.Tool == string(d) {
		return permission.Deny("not today")
	}
	return permission.Decision{}
}

// A hook that answers something else is found at the fact that it has a part in.
func TestChangedHook(t *testing.T) {
	answer := hook.Output{}
	a := recorded(t, llmtest.Call(use("double", 1)), llmtest.Say("done"))
	for _, e := range []hook.Event{hook.PreToolUse, hook.PostToolUse, hook.Stop, hook.UserPromptSubmit} {
		a.Hooks = append(a.Hooks, hook.Hook{On: e, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
			if in.Event == hook.PreToolUse {
				return answer, nil
			}
			return hook.Output{Context: "context of " + string(in.Event)}, nil
		}})
	}
	record(t, a)
	sameAsRecorded(t, a)
	answer = hook.Output{Permission: permission.Denied, Reason: "not now"}
	d := first(t, replayed(t, a, nil), "authorized", "decision.behavior")
	if d.Recorded != `"allow"` || d.Replayed != `"deny"` {
		t.Errorf("the difference is %+v", d)
	}
	answer = hook.Output{Context: "more"}
	list := replayed(t, a, nil)
	if len(list) != 1 || !strings.Contains(list[0].Why, "the agent now adds user_message: hook message") {
		t.Errorf("a hook that adds context: %v", list)
	}
	answer = hook.Output{}
	a.Hooks = a.Hooks[:1]
	first(t, replayed(t, a, nil), "configured", "hooks")
}

// A tool that is gone is found at the configuration, and at its calls. Another system prompt is
// found as well.
func TestRemovedTool(t *testing.T) {
	a := recorded(t, llmtest.Call(use("double", 1)), llmtest.Say("done"))
	record(t, a)
	a.Tools = a.Tools[1:]
	list := replayed(t, a, nil)
	first(t, list, "configured", "tools[double]")
	if !slices.ContainsFunc(list, func(d replay.Difference) bool { return d.Kind == "authorized" && d.Replayed == `"deny"` }) {
		t.Errorf("the differences are %v", list)
	}
	a.Tools = append([]tool.Tool{double}, a.Tools...)
	a.System = "Be verbose."
	if list := replayed(t, a, nil); len(list) != 1 || list[0].String() != `fact 1 (configured): system: recorded "Be brief.", now "Be verbose."` {
		t.Errorf("the differences are %v", list)
	}
}

// The parts can be used in a run of one's own: nothing is called that is not on record.
func TestModelAndTools(t *testing.T) {
	ran := 0
	counted := tool.Func(tool.Spec{Name: "count"}, func(_ context.Context, in number) (string, error) {
		ran++
		return fmt.Sprint("run ", ran), nil
	})
	a := recorded(t, llmtest.Fail(&llm.APIError{Class: llm.Overloaded}), llmtest.Call(use("count", 1), use("count", 1), use("write", 2)), llmtest.Say("done"))
	a.Tools, a.Permissions.Mode = append(a.Tools, counted), permission.Bypass
	record(t, a)
	if ran != 2 {
		t.Fatalf("the tool ran %d times", ran)
	}
	var facts []event.Event
	for e, err := range a.Sessions.Read(t.Context(), "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		facts = append(facts, e)
	}
	again := *a
	again.Model, again.Tools, again.Sessions = replay.Model(facts), replay.Tools(a.Tools, facts), session.Memory()
	s := again.Session("again")
	defer s.Close()
	res, err := s.Prompt(t.Context(), "go")
	if err != nil || res.Text != "done" || res.Turns != 2 || ran != 2 {
		t.Fatalf("%+v, %v; the tool ran %d times", res, err, ran)
	}
	var results []string
	for e := range again.Sessions.Read(t.Context(), "again", 0) {
		if r, ok := e.Data.(event.ToolResult); ok {
			results = append(results, r.Result.Text())
		}
	}
	slices.Sort(results)
	if got := strings.Join(results, ", "); got != "run 1, run 2, wrote 2" {
		t.Errorf("the results are %s", got)
	}
	var api *llm.APIError
	if _, err := s.Prompt(t.Context(), "more"); !errors.As(err, &api) || !strings.Contains(api.Message, "the record has no answer") {
		t.Errorf("beyond the record: %v", err)
	}
}

// A replay calls nothing of the agent that has an effect: no model, no tool, no person.
func TestNothingRuns(t *testing.T) {
	calls := map[string]int{}
	steps := llmtest.Steps(llmtest.Call(use("count", 1)), llmtest.Say("done"))
	a := recorded(t)
	a.Model = &llmtest.Model{Rule: func(r *llmtest.Request, n int) llmtest.Step {
		calls["model"]++
		return steps(r, n)
	}}
	a.Tools = append(a.Tools, tool.Func(tool.Spec{Name: "count"}, func(context.Context, number) (string, error) {
		calls["tool"]++
		return "counted", nil
	}))
	a.CanUseTool = func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
		calls["person"]++
		return permission.Allow(), nil
	}
	a.Checkpoint = func(context.Context, agent.CheckpointPlace) (string, error) {
		calls["checkpoint"]++
		return "c1", nil
	}
	a.Context = func(context.Context, agent.Place) []agent.Note {
		calls["context"]++
		return nil
	}
	a.Inbox = func(context.Context, string, func([]agent.Input) error) error {
		calls["inbox"]++
		return nil
	}
	record(t, a)
	for _, what := range []string{"model", "tool", "person", "checkpoint", "context", "inbox"} {
		if calls[what] == 0 {
			t.Fatalf("the session had no %s", what)
		}
	}
	clear(calls)
	sameAsRecorded(t, a)
	if len(calls) > 0 {
		t.Errorf("the replay called %v", calls)
	}
}

// A session that is missing, or no agent, is an error in words.
func TestReplayErrors(t *testing.T) {
	a := recorded(t)
	if _, err := (&replay.Session{Agent: a, ID: "none"}).Replay(t.Context()); !errors.Is(err, session.ErrNotFound) {
		t.Error(err)
	}
	if _, err := (&replay.Session{ID: "none"}).Replay(t.Context()); err == nil {
		t.Error("no error without an agent")
	}
}

// delegate is a tool that starts a sub-agent.
func delegate(background bool) tool.Tool {
	return tool.New(tool.Spec{Name: "delegate", Idempotent: true}, func(ctx context.Context, call tool.Call, in number) (*tool.Result, error) {
		p, _ := agent.ParentOf(ctx)
		c := agent.Child{Agent: &agent.Agent{Name: "helper", System: "Help.", Tools: []tool.Tool{double, own}, Model: llmtest.Script(llmtest.Call(use("double", in.N), use("own", in.N)), llmtest.Say("helped"))}, Call: call.ID, Input: agent.Input{Text: fmt.Sprint("work ", in.N)}}
		if background {
			id, err := p.Start(ctx, c, nil)
			return tool.Text(id), err
		}
		res, err := p.Run(ctx, c)
		if res == nil {
			return nil, err
		}
		return tool.Text(res.Text), nil
	})
}

// Sessions with each kind of fact replay without a difference.
func TestSameAsRecorded(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	for name, run := range map[string]func(t *testing.T) *agent.Agent{
		"parallel calls, errors and panics": func(t *testing.T) *agent.Agent {
			a := recorded(t, llmtest.Call(use("double", 1), use("double", 2), use("fails", 3), use("panics", 4), use("none", 5)), llmtest.Call(use("long", 1)), llmtest.Say("done"))
			record(t, a)
			return a
		},
		"denied calls": func(t *testing.T) *agent.Agent {
			a := recorded(t, llmtest.Call(use("write", 1)), llmtest.Say("done"))
			record(t, a)
			return a
		},
		"failures of the model": func(t *testing.T) *agent.Agent {
			a := recorded(t, llmtest.Fail(&llm.APIError{Class: llm.Overloaded}), llmtest.Step{Text: "broken off here and there", CutAfter: 3, Cut: "reset"}, llmtest.Say("done"))
			record(t, a)
			return a
		},
		"thinking, images and a fallback": func(t *testing.T) *agent.Agent {
			a := recorded(t, llmtest.Fail(&llm.APIError{Class: llm.Auth}))
			a.Fallbacks = []llm.Model{&llmtest.Model{ID: "other", Steps: []llmtest.Step{{Thinking: "hm", Text: "done"}}}}
			s := a.Session("s")
			defer s.Close()
			if _, err := s.Prompt(t.Context(), "look", llm.Image{MediaType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}); err != nil {
				t.Log(err)
			}
			return a
		},
		"schema": func(t *testing.T) *agent.Agent {
			a := recorded(t, llmtest.Say("no JSON"), llmtest.Say(`{"n":"x"}`), llmtest.Say(`{"n":3}`))
			s := a.Session("s")
			defer s.Close()
			if _, err := s.Do(t.Context(), agent.Input{Text: "go", Output: schema}); err != nil {
				t.Log(err)
			}
			return a
		},
		"sub-agents": func(t *testing.T) *agent.Agent {
			a := recorded(t, llmtest.Call(use("delegate", 1), use("delegate", 2)), llmtest.Say("done"))
			a.Tools, a.Permissions.Mode = append(a.Tools, delegate(false)), permission.Bypass
			record(t, a)
			return a
		},
		"sub-agents in the background": func(t *testing.T) *agent.Agent {
			a := recorded(t, llmtest.Call(use("delegate", 1), use("delegate", 2)), llmtest.Say("waiting"), llmtest.Say("done"), llmtest.Say("done"))
			a.Tools, a.Permissions.Mode, a.AwaitAgents = append(a.Tools, delegate(true)), permission.Bypass, true
			record(t, a)
			return a
		},
		"steering and an interrupt": func(t *testing.T) *agent.Agent {
			var s *agent.Session
			a := recorded(t, llmtest.Call(use("steers", 1)), llmtest.Call(use("interrupts", 1), use("double", 1)), llmtest.Say("done"))
			steers := tool.Func(tool.Spec{Name: "steers", ReadOnly: true}, func(ctx context.Context, _ number) (string, error) {
				_, err := s.Steer(ctx, agent.Input{Text: "faster"})
				return "steered", err
			})
			interrupts := tool.Func(tool.Spec{Name: "interrupts", ReadOnly: true}, func(ctx context.Context, _ number) (string, error) {
				if _, err := s.Interrupt(ctx); err != nil {
					return "", err
				}
				<-ctx.Done()
				return "", ctx.Err()
			})
			a.Tools = append(a.Tools, steers, interrupts)
			s = a.Session("s")
			defer s.Close()
			if _, err := s.Prompt(t.Context(), "go"); err == nil {
				t.Error("the run was not interrupted")
			}
			return a
		},
		"questions": func(t *testing.T) *agent.Agent {
			ask := llmtest.Use("", "AskUser", map[string]any{"questions": []any{map[string]any{"question": "Which?"}}})
			a := recorded(t, llmtest.Call(ask, use("write", 1)), llmtest.Call(use("write", 2)), llmtest.Say("done"))
			a.Tools = append(a.Tools, tools.AskUser())
			a.AskUser = func(context.Context, tool.Call, []tool.Question) ([]tool.Answer, error) {
				return []tool.Answer{{Text: "that"}}, nil
			}
			a.CanUseTool = func(_ context.Context, call tool.Call, d permission.Decision) (permission.Decision, error) {
				if d.Behavior != permission.Asked {
					return permission.Decision{}, nil
				}
				if string(call.Input) == `{"n":2}` {
					return permission.Defer(), nil
				}
				return permission.AllowWith(json.RawMessage(`{"n":7}`)), nil
			}
			s := a.Session("s")
			defer s.Close()
			if _, err := s.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrSuspended) {
				t.Fatal(err)
			}
			open, err := s.Pending(t.Context())
			if err != nil || len(open) != 1 {
				t.Fatal(open, err)
			}
			if err := s.Decide(t.Context(), open[0].Call.ID, permission.Deny("no")); err != nil {
				t.Fatal(err)
			}
			for _, err := range s.Resume(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
			}
			a.CanUseTool, a.AskUser = nil, nil
			return a
		},
		"compactions and a rewind": func(t *testing.T) *agent.Agent {
			a := recorded(t, llmtest.Call(use("double", 1)), llmtest.Say("first"), llmtest.Say("<memory>\n- a fact\n</memory>\n<summary>\nshort\n</summary>"), llmtest.Say("second"), llmtest.Say("third"))
			s := a.Session("s")
			defer s.Close()
			for _, in := range []agent.Input{{Text: strings.Repeat("many words ", 2000)}, {Compact: true, Text: "keep the names"}, {Text: "go on"}} {
				if _, err := s.Do(t.Context(), in); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Rewind(t.Context(), at(t, a, "run_end")); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Prompt(t.Context(), "otherwise"); err != nil {
				t.Fatal(err)
			}
			return a
		},
		"plan mode, changed settings and a fork": func(t *testing.T) *agent.Agent {
			a := recorded(t, llmtest.Call(use("write", 1), use("double", 1)), llmtest.Say("planned"), llmtest.Call(use("write", 1)), llmtest.Say("done"))
			a.Permissions.Mode = permission.Plan
			from := a.Session("from")
			defer from.Close()
			if _, err := from.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			if err := from.SetMode(t.Context(), permission.Bypass); err != nil {
				t.Fatal(err)
			}
			if _, err := from.Do(t.Context(), agent.Input{Text: "do it", Budget: agent.Budget{Turns: 5}, Tools: []string{"write"}}); err != nil {
				t.Fatal(err)
			}
			if err := session.Fork(t.Context(), a.Sessions, "from", "s", 0); err != nil {
				t.Fatal(err)
			}
			a.Model = llmtest.Script(llmtest.Say("more"))
			record(t, a)
			return a
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := run(t)
			facts := 0
			for range a.Sessions.Read(t.Context(), "s", 0) {
				facts++
			}
			if facts < 5 {
				t.Errorf("only %d facts are on record", facts)
			}
			a.Model = llmtest.Script() // it refuses every request
			sameAsRecorded(t, a)
		})
	}
}
