package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// Everything that a Session lets others do during a run, from many goroutines at
// once: each call returns, each run has one end, and what is asked of the model
// stays well formed.
func TestControlStorm(t *testing.T) {
	model := func(id string) *llmtest.Model {
		m := byTurn(t, uses("double", "write", "double"), uses("write"), uses("double"), say("done"))
		m.ID = id
		return m
	}
	ok := write(func(ctx context.Context, _ tool.Call, _ int) (*tool.Result, error) { return tool.Text("ok"), ctx.Err() })
	slowly := func(ctx context.Context, _ tool.Call, v permission.Decision) (permission.Decision, error) {
		if v.Behavior == permission.Asked {
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
			}
		}
		return permission.Allow(), nil
	}
	a := &agent.Agent{Model: model("m"), Fallbacks: []llm.Model{model("f")}, Tools: []tool.Tool{double, ok}, CanUseTool: slowly}
	others := []*llmtest.Model{model("m1"), model("m2"), model("m3")}
	expected := []error{nil, agent.ErrNotRunning, agent.ErrNoQuestion, agent.ErrBusy, agent.ErrClosed, agent.ErrInterrupted, context.Canceled}
	check := func(what any, err error) {
		if !slices.ContainsFunc(expected, func(want error) bool { return errors.Is(err, want) }) {
			t.Errorf("%v: %v", what, err)
		}
	}
	for range 10 {
		s := a.Session("")
		ctx, stop := context.WithCancel(t.Context())
		acts := []func(int) error{
			func(n int) error { _, err := s.Steer(ctx, agent.Input{Text: fmt.Sprint("steer ", n)}); return err },
			func(n int) error { _, err := s.FollowUp(ctx, agent.Input{Text: fmt.Sprint("later ", n)}); return err },
			func(n int) error {
				id, err := s.Steer(ctx, agent.Input{Text: fmt.Sprint("mind ", n)})
				if err == nil {
					_, err = s.Retract(ctx, id)
				}
				return err
			},
			func(n int) error {
				if n%7 != 0 {
					return nil
				}
				_, err := s.Interrupt(ctx)
				return err
			},
			func(int) error { return s.SetMode(ctx, permission.AcceptEdits) },
			func(n int) error { return s.SetModel(ctx, others[n%len(others)]) },
			func(int) error { return s.SetThinking(ctx, llm.Thought{Effort: "low"}) },
			func(int) error { return s.SetCanUseTool(ctx, slowly) },
			func(int) error {
				pending, err := s.Pending(ctx)
				for _, p := range pending {
					err = s.Decide(ctx, p.Call.ID, permission.Allow())
				}
				return err
			},
			func(int) error { _, err := s.CanResume(ctx); return err },
			func(int) error { _, err := s.Messages(ctx); return err },
			func(int) error { s.Result(); return nil },
		}
		var group sync.WaitGroup
		for i, act := range acts {
			group.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					check(i, act(n))
					time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
				}
			})
		}
		for n := range 3 {
			prompts, ends := 0, 0
			for e, err := range s.Stream(ctx, fmt.Sprint("prompt ", n)) {
				check("prompt", err)
				switch d := e.Data.(type) {
				case event.UserMessage:
					if d.Delivery == fact.AsPrompt {
						prompts++
					}
				case event.RunEnd:
					ends++
				}
			}
			if prompts != 1 || ends != 1 {
				t.Errorf("%d prompts and %d ends", prompts, ends)
			}
		}
		group.Go(func() { _, err := s.Prompt(ctx, "cut"); check("the last prompt", err) })
		time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
		check("close", s.Close())
		stop()
		group.Wait()
	}
}
