package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/modelcall"
	"github.com/openagent-go/agent/llm"
)

// model streams one request and turns deltas into signals.
func (x *Executor) model(ctx context.Context, e engine.CallModel, j *Input) event.Fact {
	if j.Model == nil {
		return event.ModelFailed{Key: e.Key(), Model: e.Model, Class: llmconst.NotFound, Message: fmt.Sprintf("the agent has no model %q", e.Model)}
	}
	r := &reply{x: x, effect: e, job: j, start: time.Now(), calls: partialCalls{signals: j.Signals}}
	defer r.calls.end(ctx)
	defer x.Models.addRotatedSecrets(j.Model)
	x.Drafts.keep(e.Key(), &r.calls)
	// A range statement would allocate two more times for each turn (BenchmarkTurns).
	x.metered(j.Model).Stream(ctx, j.Request)(func(d llm.Delta, err error) bool { return r.next(ctx, d, err) })
	if r.fact == nil {
		r.fact = r.failed(&llm.APIError{Class: llm.Truncated, Message: "the stream ended without a final event", RetryAfter: -1})
	}
	return r.fact
}

// A reply is an answer of the model while it is being streamed.
type reply struct {
	x        *Executor
	effect   engine.CallModel
	job      *Input
	calls    partialCalls
	start    time.Time
	first    time.Duration // time until the first delta; 0: none so far
	text     strings.Builder
	streamed int                  // bytes
	blocks   int                  // number of blocks begun
	uses     map[int]*llm.ToolUse // by index of the block; nil until needed
	thinking map[int]bool         // likewise
	fact     event.Fact           // result of the call; nil until it is known
}

// next takes the next delta, or the error that ends the stream. It reports whether more is
// wanted. A model that continues in spite of that is ignored.
func (r *reply) next(ctx context.Context, d llm.Delta, err error) (more bool) {
	if r.fact != nil {
		return false
	}
	if err == nil && r.first == 0 {
		r.first = max(time.Since(r.start), 1)
	}
	if err == nil && d.Done == nil {
		r.take(ctx, d)
		err = modelcall.CheckSize(r.streamed, r.blocks)
	}
	switch {
	case err != nil:
		r.fact = r.failed(err)
	case d.Done != nil:
		r.fact = r.done(*d.Done)
	}
	return r.fact == nil
}

// take processes and shows a delta.
func (r *reply) take(ctx context.Context, d llm.Delta) {
	if d.Block != nil {
		r.blocks++
	}
	switch b := d.Block.(type) {
	case llm.ToolUse:
		if r.uses == nil {
			r.uses = map[int]*llm.ToolUse{}
		}
		r.uses[d.Index] = &b
		r.calls.begin(ctx, r.x, d.Index, b)
		if r.job.Signals.Watched() {
			r.job.Signals.Show(event.ToolInputDelta{Key: r.effect.Key(), ID: b.ID, Tool: b.Name})
		}
	case llm.Thinking:
		if r.thinking == nil {
			r.thinking = map[int]bool{}
		}
		r.thinking[d.Index] = true
		d.Text = cmp.Or(d.Text, b.Text)
	case llm.Text:
		d.Text = cmp.Or(d.Text, b.Text)
	}
	if d.Text == "" {
		return
	}
	r.streamed += len(d.Text)
	u, thinking := r.uses[d.Index], r.thinking[d.Index]
	if u != nil {
		r.calls.add(d.Index, d.Text)
	} else if !thinking {
		if r.text.Cap()-r.text.Len() < len(d.Text) { // Grow doubles, WriteString grows by a quarter
			r.text.Grow(len(d.Text))
		}
		r.text.WriteString(d.Text)
	}
	switch {
	case u == nil && !thinking:
		r.job.Signals.Text(r.effect.Key(), d.Text, r.text.String())
	case !r.job.Signals.Watched():
	case u != nil:
		r.job.Signals.Show(event.ToolInputDelta{Key: r.effect.Key(), ID: u.ID, Tool: u.Name, Text: d.Text})
	default:
		r.job.Signals.Show(event.ThinkingDelta{Key: r.effect.Key(), Text: d.Text})
	}
}

func (r *reply) price() *llm.Price { return llm.InfoOf(r.job.Model).Price }

func (r *reply) done(response llm.Response) event.Fact {
	if err := modelcall.CheckSize(modelcall.Size(response.Message.Content), len(response.Message.Content)); err != nil {
		return r.failed(err)
	}
	response.Message.Content = normalizeContent(response.Message.Content)
	return event.AssistantMessage{Key: r.effect.Key(), Model: r.effect.Model, Response: response,
		CostUSD: cost(r.price(), response.Usage), Duration: time.Since(r.start), First: r.first}
}

// failed returns the fact of a failed call. The provider bills streamed output even so, so
// its usage is estimated.
func (r *reply) failed(err error) event.Fact {
	f := r.x.failure(r.effect, err)
	f.Partial, f.Duration = r.text.String(), time.Since(r.start)
	if r.first > 0 {
		f.Usage = llm.Usage{Input: r.job.Request.Estimate(), Output: (r.streamed + 3) / 4}
		f.CostUSD = cost(r.price(), f.Usage)
	}
	return f
}

//go:noinline // called from many places: every program stays smaller
func cost(p *llm.Price, u llm.Usage) *float64 {
	if p == nil {
		return nil
	}
	return new(p.Cost(u))
}

// failure returns the fact of a failed call: its class, and whether and when to retry.
func (x *Executor) failure(e engine.CallModel, err error) (f event.ModelFailed) {
	f = event.ModelFailed{Key: e.Key(), Model: e.Model, Message: x.Secrets.Text(err.Error())}
	defer func() { x.keepModelCause(f.Message, f.Class, err) }()
	var api *llm.APIError
	if !errors.As(err, &api) {
		f.Class = llm.Network
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			f.Class = llm.Timeout
		}
		return f
	}
	f.Class, f.Status, f.RequestID = api.Class, api.Status, api.RequestID
	r := x.Retry(api, e.Tries)
	f.Class, f.Message = cmp.Or(r.Class, f.Class), f.Message+r.Why
	if r.Again {
		f.Retry, f.RetryAt = true, time.Now().Add(r.After)
	}
	return f
}
