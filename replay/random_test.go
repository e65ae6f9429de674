package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// sessions is how many sessions picked at random are recorded and replayed.
const sessions = 120

// Sessions picked at random, with calls, failures, hooks, questions, sub-agents, interrupts,
// rewinds, forks and lost programs, replay without a difference. Together they have each kind
// of fact that a run records by itself.
func TestRandomSessions(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(sessions) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			a, ids := recordRandom(t, rand.New(rand.NewPCG(seed, 7)))
			a.Model, a.CanUseTool = llmtest.Script(), nil
			for _, id := range ids {
				for e, err := range a.Sessions.Read(t.Context(), id, 0) {
					if err != nil {
						t.Fatal(err)
					}
					seen[event.Type(e.Data)]++
				}
				s := sameSession(t, a, id)
				for _, d := range s {
					t.Errorf("%s: session %s: %s", id, d.Session, d)
				}
			}
		})
	}
	for _, kind := range []string{"agent_end", "agent_start", "answered", "assistant_message", "authorized", "compacted", "configured", "hooked", "model_failed", "resumed", "rewound",
		"run_end", "stopped", "tool_amended", "tool_done", "tool_result", "tool_start", "user_message", "waited"} {
		if seen[kind] == 0 {
			t.Errorf("no session has a fact %s", kind)
		}
	}
	t.Log(seen)
}

// losing is a store that loses the program: no append works after some.
type losing struct {
	session.Store
	left *atomic.Int64
}

type losingLog struct {
	session.Log
	left *atomic.Int64
}

const forever = 1 << 40 // appends

var errLost = errors.New("the program is gone")

func (s losing) Open(ctx context.Context, id string, h session.Header) (session.Log, error) {
	log, err := s.Store.Open(ctx, id, h)
	return losingLog{log, s.left}, err
}

func (l losingLog) Append(ctx context.Context, last int64, sync bool, events ...event.Event) error {
	if l.left.Add(-1) < 0 {
		return errLost
	}
	return l.Log.Append(ctx, last, sync, events...)
}

// recordRandom returns an agent and the sessions that it has recorded.
func recordRandom(t *testing.T, r *rand.Rand) (*agent.Agent, []string) {
	t.Helper()
	var s *agent.Session
	a := recorded(t)
	a.Permissions.Mode = []permission.Mode{permission.Default, permission.Plan, permission.Bypass, permission.AcceptEdits, permission.DontAsk, permission.Bypass}[r.IntN(6)]
	a.Tools = append(a.Tools, delegate(false))
	a.Tools = append(a.Tools, tool.Func(tool.Spec{Name: "stop", ReadOnly: true}, func(ctx context.Context, in number) (string, error) {
		if in.N%2 == 0 {
			_, err := s.Steer(ctx, agent.Input{Text: fmt.Sprint("steer ", in.N)})
			return "steered", err
		}
		if _, err := s.Interrupt(ctx); err != nil {
			return "", err
		}
		<-ctx.Done()
		return "", ctx.Err()
	}))
	if r.IntN(2) == 0 {
		a.Permissions.Ask = []permission.Rule{"write"}
	}
	if r.IntN(3) == 0 {
		a.SmallModel, a.SummarizeOver = llmtest.Script(slices.Repeat([]llmtest.Step{llmtest.Say("in short")}, 20)...), 100
	}
	if r.IntN(3) == 0 {
		a.Compaction = &agent.Compaction{At: 0.3, Keep: 100}
	}
	for _, e := range []hook.Event{hook.PreToolUse, hook.PostToolUse, hook.PostToolUseFailure, hook.Stop, hook.UserPromptSubmit, hook.SessionStart, hook.PermissionRequest, hook.PreCompact} {
		if r.IntN(4) == 0 {
			a.Hooks = append(a.Hooks, hook.Hook{On: e, Func: answers})
		}
	}
	if r.IntN(2) == 0 {
		a.CanUseTool = decides
	}
	random := func() llmtest.Step {
		switch r.IntN(8) {
		case 0:
			return llmtest.Fail(&llm.APIError{Class: llm.Overloaded})
		case 1:
			return llmtest.Step{Text: "broken off in the middle", CutAfter: 2, Cut: "reset"}
		}
		var calls []llm.ToolUse
		for range 1 + r.IntN(4) {
			name := []string{"double", "write", "fails", "panics", "delegate", "none", "double", "write", "stop"}[r.IntN(9)]
			if name == "stop" && r.IntN(2) == 0 {
				name = "double"
			} else if r.IntN(40) == 0 {
				name = "long"
			}
			calls = append(calls, use(name, r.IntN(9)))
		}
		return llmtest.Step{Text: "calling", Calls: calls}
	}
	window := 4000 + r.IntN(100_000)
	a.Model = &llmtest.Model{ID: "random", Facts: llm.Info{Window: window, Price: &llm.Price{Input: 1, Output: 2}}, Rule: func(req *llmtest.Request, n int) llmtest.Step {
		if strings.Contains(req.Messages[len(req.Messages)-1].Text(), "<summary>") {
			return llmtest.Say("<memory>\n- a fact\n</memory>\n<summary>\nso far\n</summary>")
		}
		if r.IntN(3) == 0 || n > 12 {
			return llmtest.Say("done")
		}
		return random()
	}}
	store := a.Sessions
	var left atomic.Int64
	left.Store(forever)
	if r.IntN(3) == 0 {
		left.Store(4 + r.Int64N(30))
	}
	a.Sessions = losing{store, &left}
	prompt := func(id, text string) {
		s = a.Session(id)
		defer s.Close()
		_, err := s.Prompt(t.Context(), text)
		for range 5 { // questions that were left for later, and a program that was lost
			if errors.Is(err, errLost) {
				s.Close()
				left.Store(forever)
				s = a.Session(id)
			}
			open, _ := s.Pending(t.Context())
			for _, q := range open {
				if err := s.Decide(t.Context(), q.Call.ID, permission.Allow()); err != nil {
					t.Log(err)
				}
			}
			if can, _ := s.CanResume(t.Context()); !can {
				return
			}
			err = nil
			for _, e := range s.Resume(t.Context()) {
				err = errors.Join(err, e)
			}
		}
	}
	for i := range 1 + r.IntN(3) {
		prompt("s", fmt.Sprintf("prompt %d %s", i, strings.Repeat("words ", r.IntN(2000))))
		if r.IntN(4) == 0 {
			s := a.Session("s")
			if to := at(t, a, "run_end"); to > 0 {
				if err := s.Rewind(t.Context(), to); err != nil {
					t.Log(err)
				}
			}
			s.Close()
		}
	}
	ids := []string{"s"}
	if r.IntN(3) == 0 {
		var last int64
		for e := range store.Read(t.Context(), "s", 0) {
			last = e.Seq
		}
		if err := session.Fork(t.Context(), store, "s", "fork", 1+r.Int64N(last)); err != nil {
			t.Fatal(err)
		}
		prompt("fork", "in the fork")
		ids = append(ids, "fork")
	}
	a.Sessions = store
	return a, ids
}

// answers is a hook whose answer follows from its input.
func answers(_ context.Context, in *hook.Input) (hook.Output, error) {
	switch n := hash(string(in.Event) + in.Tool + string(in.Input)); {
	case in.Event == hook.Stop || in.Event == hook.PreCompact:
		return hook.Output{}, nil
	case n%7 == 0:
		return hook.Output{Context: "a remark"}, nil
	case n%7 == 1 && in.Event == hook.PreToolUse:
		return hook.Output{Permission: permission.Denied, Reason: "the hook denies it"}, nil
	case n%7 == 2 && in.Event == hook.PreToolUse:
		return hook.Output{Input: json.RawMessage(`{"n":77}`)}, nil
	case n%7 == 3 && in.Event == hook.PostToolUse:
		return hook.Output{Result: tool.Text("replaced")}, nil
	case n%7 == 4 && in.Event == hook.PermissionRequest:
		return hook.Output{Permission: permission.Allowed}, nil
	}
	return hook.Output{}, nil
}

// decides is a person whose decision follows from the call.
func decides(_ context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error) {
	if verdict.Behavior != permission.Asked {
		return permission.Decision{}, nil
	}
	switch hash(string(call.Input)+call.ID) % 4 {
	case 0:
		return permission.Deny("no"), nil
	case 1:
		return permission.AllowWith(json.RawMessage(`{"n":55}`)), nil
	case 2:
		return permission.Defer(), nil
	}
	return permission.Allow(), nil
}

func hash(s string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(s))
	return h.Sum32()
}
