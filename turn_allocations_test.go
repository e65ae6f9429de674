package agent_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A turn that calls a tool makes about 50 allocations, 7 of them in the test's model. The
// race detector makes 10 more. Before you raise the limit, look for the new ones:
// docs/performance.md shows how.
func TestTurnAllocations(t *testing.T) {
	const limit = 66
	run := func(turns int) float64 {
		a := &agent.Agent{Model: &caller{turns}, Tools: []tool.Tool{double}}
		return testing.AllocsPerRun(5, func() {
			if res, err := a.Prompt(t.Context(), "go"); err != nil || res.Turns != turns {
				t.Fatal(res, err)
			}
		})
	}
	if n := (run(210) - run(10)) / 200; n > limit {
		t.Errorf("%.1f allocations in a turn, want at most %d", n, limit)
	}
}

// A context that foreign code got ends when the code returns, although the run judges and
// runs its calls with one context.
func TestForeignContextsEnd(t *testing.T) {
	var given []context.Context
	check := func(ctx context.Context) {
		for i, c := range given {
			if !errors.Is(c.Err(), context.Canceled) {
				t.Errorf("context %d of %d has not ended: %v", i, len(given), c.Err())
			}
		}
		if ctx.Err() != nil {
			t.Errorf("context %d has ended too early: %v", len(given), ctx.Err())
		}
		given = append(given, ctx)
	}
	a := &agent.Agent{
		Model: contextModel{&caller{4}, check},
		Tools: []tool.Tool{tool.Func(tool.Spec{Name: "double"}, func(ctx context.Context, in number) (int, error) {
			check(ctx)
			return 2 * in.N, nil
		})},
		Hooks: []hook.Hook{{On: hook.PreToolUse, Func: func(ctx context.Context, _ *hook.Input) (hook.Output, error) {
			check(ctx)
			return hook.Output{}, nil
		}}},
		CanUseTool: func(ctx context.Context, _ tool.Call, _ permission.Decision) (permission.Decision, error) {
			check(ctx)
			return permission.Allow(), nil
		},
		Permissions: permission.Policy{Allow: []permission.Rule{"double"}},
	}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if want := 4 + 3*3; len(given) != want {
		t.Errorf("%d contexts, want %d", len(given), want)
	}
}

// A contextModel passes the contexts of its calls to see.
type contextModel struct {
	*caller
	see func(context.Context)
}

func (m contextModel) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	m.see(ctx)
	return m.caller.Stream(ctx, req)
}
