package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
)

// model streams one request, turning deltas into signals.
func (x *executor) model(ctx context.Context, e engine.CallModel, j *effectInput) event.Fact {
	if j.model == nil {
		return event.ModelFailed{Key: e.Key(), Model: e.Model, Class: llm.NotFound, Message: fmt.Sprintf("the agent has no model %q", e.Model)}
	}
	r := &reply{x: x, effect: e, job: j, start: time.Now(), calls: partialCalls{signals: j.signals}}
	defer r.calls.end(ctx)
	defer x.addRotatedSecrets(j.model)
	x.keep(e.Key(), &r.calls)
	for d, err := range j.model.Stream(ctx, j.request) {
		if err != nil {
			return r.failed(err)
		}
		if r.first == 0 {
			r.first = max(time.Since(r.start), 1)
		}
		if d.Done != nil {
			return r.done(*d.Done)
		}
		r.take(ctx, d)
		if err := llm.CheckSize(r.streamed, r.blocks); err != nil {
			return r.failed(err)
		}
	}
	return r.failed(&llm.APIError{Class: llm.Truncated, Message: "the stream ended without a final event", RetryAfter: -1})
}

// A reply is an answer of the model while it is being streamed.
type reply struct {
	x        *executor
	effect   engine.CallModel
	job      *effectInput
	calls    partialCalls
	start    time.Time
	first    time.Duration // until the first delta; 0: none has come
	text     strings.Builder
	streamed int                  // bytes
	blocks   int                  // that have begun
	uses     map[int]*llm.ToolUse // by index of the block; made when they are needed
	thinking map[int]bool         // likewise
}

// take shows a delta.
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
		if r.job.signals.watched() {
			r.job.signals.show(event.ToolInputDelta{Key: r.effect.Key(), ID: b.ID, Tool: b.Name})
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
	case !r.job.signals.watched():
	case u != nil:
		r.job.signals.show(event.ToolInputDelta{Key: r.effect.Key(), ID: u.ID, Tool: u.Name, Text: d.Text})
	case thinking:
		r.job.signals.show(event.ThinkingDelta{Key: r.effect.Key(), Text: d.Text})
	default:
		r.job.signals.text(r.effect.Key(), d.Text)
	}
}

func (r *reply) price() *llm.Price { return llm.InfoOf(r.job.model).Price }

func (r *reply) done(response llm.Response) event.Fact {
	if err := llm.CheckSize(response.Message.Content.Size(), len(response.Message.Content)); err != nil {
		return r.failed(err)
	}
	response.Message.Content = normalizeContent(response.Message.Content)
	return event.AssistantMessage{Key: r.effect.Key(), Model: r.effect.Model, Response: response,
		CostUSD: cost(r.price(), response.Usage), Duration: time.Since(r.start), First: r.first}
}

// failed makes the fact of a call that came to nothing. What was streamed is
// billed all the same: its usage is estimated.
func (r *reply) failed(err error) event.Fact {
	f := r.x.failure(r.effect, err)
	f.Partial, f.Duration = r.text.String(), time.Since(r.start)
	if r.first > 0 {
		f.Usage = llm.Usage{Input: r.job.request.Estimate(), Output: (r.streamed + 3) / 4}
		f.CostUSD = cost(r.price(), f.Usage)
	}
	return f
}

// normalizeContent gives raw JSON the form in which it comes back from a journal, so that a
// resumed run makes the same requests, byte for byte.
// What a model's client should not have let through, and no journal takes, is
// left out.
func normalizeContent(content llm.Blocks) llm.Blocks {
	if !slices.ContainsFunc(content, needsNormalizing) {
		return content
	}
	var out llm.Blocks
	for _, b := range content {
		switch t := b.(type) {
		case nil:
			continue
		case llm.ToolUse:
			if input, ok := compactJSON(t.Input); ok {
				t.Input = input
			} else {
				t.Input, t.Invalid = json.RawMessage("{}"), cmp.Or(t.Invalid, string(t.Input))
			}
			b = t
		case llm.Thinking:
			t.Extra, _ = compactJSON(t.Extra)
			b = t
		case llm.Verbatim:
			raw, ok := compactJSON(t.Raw)
			if t.Raw = raw; !ok {
				b = llm.Text{Text: t.Shown}
				break
			}
			b = t
		}
		out = append(out, b)
	}
	return out
}

// needsNormalizing reports whether tidy would change a block.
func needsNormalizing(b llm.Block) bool {
	switch t := b.(type) {
	case nil:
		return true
	case llm.ToolUse:
		return !isCompactJSON(t.Input)
	case llm.Thinking:
		return !isCompactJSON(t.Extra)
	case llm.Verbatim:
		return !isCompactJSON(t.Raw)
	}
	return false
}

// compactJSON returns raw without needless space, nil where it is nil or no JSON.
func compactJSON(raw json.RawMessage) (compacted json.RawMessage, ok bool) {
	if isCompactJSON(raw) {
		return raw, true
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return nil, false
	}
	return b.Bytes(), true
}

// isCompactJSON reports whether raw is nil, or JSON without needless space.
func isCompactJSON(raw json.RawMessage) bool {
	if raw == nil {
		return true
	}
	quoted := false
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			quoted = !quoted
		case '\\':
			i++
		case ' ', '\n', '\t', '\r':
			if !quoted {
				return false
			}
		}
	}
	return json.Valid(raw)
}

func cost(p *llm.Price, u llm.Usage) *float64 {
	if p == nil {
		return nil
	}
	return new(p.Cost(u))
}

// failure says what a failed call means: what kind it is, and whether and when
// to try again.
func (x *executor) failure(e engine.CallModel, err error) event.ModelFailed {
	f := event.ModelFailed{Key: e.Key(), Model: e.Model, Message: x.secrets.Text(err.Error())}
	var api *llm.APIError
	if !errors.As(err, &api) {
		f.Class = llm.Network
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			f.Class = llm.Timeout
		}
		return f
	}
	f.Class, f.Status, f.RequestID = api.Class, api.Status, api.RequestID
	r := x.agent.retry()
	if !api.Retryable() || api.Status != 0 && !slices.Contains(r.statuses(), api.Status) && api.Status >= 300 {
		return f
	}
	if most := or(r.MaxAfter, time.Minute); api.RetryAfter > most {
		f.Class = llm.Unavailable
		f.Message += fmt.Sprintf(" (asks to wait %v, more than the %v that are obeyed)", api.RetryAfter, most)
		return f
	}
	delay := api.RetryAfter
	if delay <= 0 { // not said, or at once: never without a pause
		delay = r.backoff(e.Tries)
	}
	f.Retry, f.RetryAt = true, time.Now().Add(delay)
	return f
}

// retry is how the agent repeats failed calls.
func (a *Agent) retry() Retry {
	if a.Retry == nil {
		return Retry{}
	}
	return *a.Retry
}

func (r Retry) statuses() []int {
	if r.Statuses != nil {
		return r.Statuses
	}
	return []int{408, 429, 500, 502, 503, 504, 529}
}

func (r Retry) tries() int {
	switch {
	case r.Tries < 0:
		return 0
	case r.Tries == 0:
		return 3
	}
	return r.Tries
}

// backoff returns how long to wait after the given number of earlier failures.
func (r Retry) backoff(failures int) time.Duration {
	base, most := or(r.Base, 2*time.Second), or(r.Cap, 30*time.Second)
	d := base << min(failures, 20)
	if d <= 0 || d > most {
		d = most
	}
	jitter := 0.75 + rand.Float64()/2
	return min(time.Duration(float64(d)*jitter), most)
}

func or(d, def time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return def
}
