package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	agent "github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/tool"
)

// ownError is an error type of a model that this module does not know.
type ownError struct{ account string }

func (e *ownError) Error() string { return "account " + e.account + " is closed" }

// The error of a prompt leads to the model's own error, with all that it carries.
func TestEndErrorCause(t *testing.T) {
	own := &ownError{"7"}
	api := &llm.APIError{Class: llm.RateLimit, Provider: "anthropic", Status: 429, Type: "rate_limit_error", Message: "slow down", RequestID: "req_1", RetryAfter: 90 * time.Second, Err: own}
	a := &agent.Agent{Model: llmtest.Script(llmtest.Fail(api)), Retry: &agent.Retry{Tries: -1, MaxAfter: time.Hour}}
	_, err := a.Prompt(t.Context(), "go")
	var got *llm.APIError
	if !errors.As(err, &got) || got != api {
		t.Errorf("got the cause %#v, want the model's own", got)
	}
	if !errors.Is(err, agent.ErrModel) || !errors.Is(err, llm.ErrRateLimited) || !errors.Is(err, own) {
		t.Errorf("%v does not match all of its causes", err)
	}
	if want := "agent: run ended: model_error: anthropic: rate_limit (HTTP 429): slow down [request req_1]"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}

	t.Run("not obeyed", func(t *testing.T) { // the run's own class is beside the provider's
		a := &agent.Agent{Model: llmtest.Script(llmtest.Fail(api))}
		_, err := a.Prompt(t.Context(), "go")
		if got := (*llm.APIError)(nil); !errors.As(err, &got) || got.Class != llmconst.Unavailable || got.RetryAfter != api.RetryAfter || got.Type != api.Type || !errors.Is(err, own) || !errors.Is(err, llm.ErrRateLimited) {
			t.Errorf("got %#v", got)
		}
	})
	t.Run("of another kind", func(t *testing.T) {
		_, err := (&agent.Agent{Model: llmtest.Script(llmtest.Fail(own))}).Prompt(t.Context(), "go")
		var got *ownError
		if !errors.As(err, &got) || got != own || !errors.Is(err, llm.ErrUnavailable) {
			t.Errorf("got %#v in %v", got, err)
		}
	})
	t.Run("of a summary", func(t *testing.T) {
		s := (&agent.Agent{Model: llmtest.Script(say("one"), say("two"), llmtest.Fail(own)), Compaction: &agent.Compaction{Keep: 1}}).Session("")
		defer s.Close()
		for range 2 {
			if _, err := s.Prompt(t.Context(), strings.Repeat("words ", 400)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Compact(t.Context(), ""); !errors.Is(err, own) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("of a hook", func(t *testing.T) {
		fails := hook.Hook{On: hook.UserPromptSubmit, Name: "ledger", Func: func(context.Context, *hook.Input) (hook.Output, error) { return hook.Output{}, own }}
		_, err := (&agent.Agent{Model: llmtest.Script(say("never")), Hooks: []hook.Hook{fails}}).Prompt(t.Context(), "go")
		if !errors.Is(err, agent.ErrStopped) || !errors.Is(err, own) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("of the caller", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		slow := &llmtest.Model{Rule: func(*llmtest.Request, int) llmtest.Step {
			cancel(own)
			return llmtest.Step{Text: "late", Delay: time.Hour}
		}}
		_, err := (&agent.Agent{Model: slow}).Prompt(ctx, "go")
		var got *ownError
		if !errors.Is(err, context.Canceled) || !errors.As(err, &got) || got != own || !errors.Is(err, agent.ErrInterrupted) {
			t.Errorf("got %#v", err)
		}
	})
	t.Run("of no one", func(t *testing.T) { // an earlier failure is no cause
		s := (&agent.Agent{Model: llmtest.Script(llmtest.Fail(own), uses("step"), uses("step")), Tools: []tool.Tool{plain("step")}}).Session("")
		defer s.Close()
		if _, err := s.Prompt(t.Context(), "one"); !errors.Is(err, own) {
			t.Fatalf("got %v", err)
		}
		if err := s.SetBudget(t.Context(), agent.Budget{Turns: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Prompt(t.Context(), "two"); !errors.Is(err, agent.ErrLimit) || errors.Is(err, own) || errors.Is(err, agent.ErrModel) {
			t.Errorf("got %v", err)
		}
	})
}

// The error of a sub-agent leads its starter to the error of the child's model.
func TestEndErrorOfChild(t *testing.T) {
	own := &ownError{"8"}
	for name, start := range map[string]func(context.Context, *agent.Parent, agent.Child) error{
		"run": func(ctx context.Context, p *agent.Parent, c agent.Child) error { _, err := p.Run(ctx, c); return err },
		"background": func(ctx context.Context, p *agent.Parent, c agent.Child) error {
			ended := make(chan error, 1)
			if _, err := p.Start(ctx, c, func(_ *agent.Result, err error) { ended <- err }); err != nil {
				return err
			}
			return <-ended
		},
	} {
		var got error
		delegate := tool.New(tool.Spec{Name: "delegate", ReadOnly: true}, func(ctx context.Context, c tool.Call, _ number) (*tool.Result, error) {
			p, _ := agent.ParentOf(ctx)
			got = start(ctx, p, agent.Child{Agent: &agent.Agent{Name: "child", Model: llmtest.Script(llmtest.Fail(own))}, Call: c.ID, Input: agent.Input{Text: "work"}})
			return tool.Text("it failed"), nil
		})
		a := &agent.Agent{Model: llmtest.Script(uses("delegate"), say("done"), say("noticed")), Tools: []tool.Tool{delegate}}
		res, err := a.Prompt(t.Context(), "go")
		if err != nil || len(res.Denials) > 0 {
			t.Fatal(err, res.Denials)
		}
		var end *agent.EndError
		if !errors.Is(got, own) || !errors.As(got, &end) || end.Reason != event.ModelError {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
