package llmtest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/openagent-go/agent/llm"
)

// A model in process keeps the contract.
func TestContractInProcess(t *testing.T) {
	RunContract(t, func(_ *testing.T, steps ...Step) llm.Model { return Script(steps...) })
}

// A spoiled model has one fault.
type spoiled struct {
	llm.Model
	stream func(ctx context.Context, m llm.Model, req *llm.Request, yield func(llm.Delta, error) bool)
}

func (s spoiled) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) { s.stream(ctx, s.Model, req, yield) }
}

// The contract finds each fault, in the test of that subject.
func TestContractFindsFaults(t *testing.T) {
	type yield = func(llm.Delta, error) bool
	// each changes every delta and error of the model.
	each := func(change func(llm.Delta, error) (llm.Delta, error)) func(context.Context, llm.Model, *llm.Request, yield) {
		return func(ctx context.Context, m llm.Model, req *llm.Request, yield yield) {
			for d, err := range m.Stream(ctx, req) {
				if !yield(change(d, err)) {
					return
				}
			}
		}
	}
	for fault, c := range map[string]struct {
		found  string
		stream func(context.Context, llm.Model, *llm.Request, yield)
	}{
		"no final delta": {"text", func(ctx context.Context, m llm.Model, req *llm.Request, yield yield) {
			for d, err := range m.Stream(ctx, req) {
				if d.Done == nil && !yield(d, err) {
					return
				}
			}
		}},
		"a text that is lost": {"blocking", each(func(d llm.Delta, err error) (llm.Delta, error) {
			if d.Done != nil {
				d.Done = &llm.Response{Message: llm.Message{Role: llm.Assistant}, Stop: llm.EndTurn, Usage: d.Done.Usage}
			}
			return d, err
		})},
		"equal ids": {"calls", each(func(d llm.Delta, err error) (llm.Delta, error) {
			if u, ok := d.Block.(llm.ToolUse); ok {
				u.ID = "x"
				d.Block = u
			}
			return d, err
		})},
		"a stop reason of its own": {"empty answer", each(func(d llm.Delta, err error) (llm.Delta, error) {
			if d.Done != nil {
				d.Done.Stop = "finished"
			}
			return d, err
		})},
		"errors without a class": {"errors", each(func(d llm.Delta, err error) (llm.Delta, error) {
			if err != nil {
				err = errors.New(err.Error())
			}
			return d, err
		})},
		"a broken stream that is whole": {"broken stream", each(func(d llm.Delta, err error) (llm.Delta, error) {
			if err != nil {
				return llm.Delta{Done: &llm.Response{Message: llm.Message{Role: llm.Assistant}}}, nil
			}
			return d, nil
		})},
		"an error of its own for a context": {"cancel", each(func(d llm.Delta, err error) (llm.Delta, error) {
			if errors.Is(err, context.DeadlineExceeded) {
				err = &llm.APIError{Class: llm.Timeout}
			}
			return d, err
		})},
	} {
		var failed []string
		RunContract(trial{&failures{TB: t}, "", &failed}, func(_ trial, steps ...Step) llm.Model {
			return spoiled{Script(steps...), c.stream}
		})
		if !slices.Contains(failed, c.found) {
			t.Errorf("%s is not found by %q, only by %q", fault, c.found, failed)
		}
	}
}
