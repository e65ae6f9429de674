package agent_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/trace"
)

// A call that ran is in the statistics and in the trace, however it ended: by its timeout,
// given up because it does not stop, or cancelled with the run.
func TestHungToolIsCounted(t *testing.T) {
	for _, how := range []string{"stops at its timeout", "ignores its timeout", "stops with the run", "ignores the end of the run"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { hangOnce(t, how) })
		})
	}
}

func hangOnce(t *testing.T, how string) {
	var mu sync.Mutex
	spans := map[string]trace.End{}
	free := make(chan struct{})
	defer close(free)
	ignores := how == "ignores its timeout" || how == "ignores the end of the run"
	interrupts := how == "stops with the run" || how == "ignores the end of the run"
	spec := tool.Spec{Name: "hang"}
	if !interrupts {
		spec.Timeout = time.Minute
	}
	hang := tool.New(spec, func(ctx context.Context, _ tool.Call, _ number) (*tool.Result, error) {
		if ignores {
			<-free
		} else {
			<-ctx.Done()
		}
		return nil, ctx.Err()
	})
	for _, hooked := range []bool{false, true} {
		clear(spans)
		a := &agent.Agent{Model: llmtest.Script(uses("hang"), say("done")), Tools: []tool.Tool{hang}, Permissions: bypass,
			Trace: func(ctx context.Context, s trace.Span) (context.Context, func(trace.End)) {
				return ctx, func(e trace.End) {
					mu.Lock()
					defer mu.Unlock()
					if _, twice := spans[s.Key]; twice && s.Kind == "tool" {
						t.Error("the span of the call ended twice")
					}
					if s.Kind == "tool" {
						spans[s.Key] = e
					}
				}
			}}
		if hooked {
			a.Hooks = []hook.Hook{{On: hook.PostToolUseFailure, Func: func(context.Context, *hook.Input) (hook.Output, error) { return hook.Output{}, nil }}}
		}
		s := a.Session("")
		defer s.Close()
		if interrupts {
			time.AfterFunc(time.Minute, func() { s.Interrupt(context.Background()) })
		}
		res, err := s.Prompt(t.Context(), "go")
		if res == nil || interrupts != errors.Is(err, agent.ErrInterrupted) {
			t.Fatalf("%+v, %v", res, err)
		}
		want := event.ToolUse{Calls: 1, Failures: 1}
		got := res.Tools["hang"]
		lasted := got.Time
		got.Time = 0
		if got != want || lasted < time.Minute {
			t.Errorf("hooks %v: the call is counted as %+v with %v, want one failure that took a minute at least", hooked, got, lasted)
		}
		mu.Lock()
		if len(spans) != 1 {
			t.Errorf("hooks %v: %d spans of the call have ended, want 1", hooked, len(spans))
		}
		for _, e := range spans {
			if e.Error == "" || e.Error == "unfinished" {
				t.Errorf("hooks %v: the span ends with %+v", hooked, e)
			}
		}
		mu.Unlock()
	}
}
