package llmtest

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
)

const provider = "llmtest"

// Script returns a model that answers its nth request with the nth step. A request beyond
// the last step is an error that is not retried. The model costs $1 for a million tokens of
// input and $2 for a million of output, so that budgets work; set Facts.Price for another
// price, or to nil for an unknown one.
func Script(steps ...Step) *Model {
	return &Model{Steps: steps, Facts: llm.Info{Price: &llm.Price{Input: 1, Output: 2, CacheRead: 0.1, CacheWrite: 1.25}}}
}

// A Model is an llm.Model that plays steps in process. Its zero value refuses
// every request. Fields must not change once it is in use.
type Model struct {
	Steps []Step   // the answers, in order
	Rule  Rule     // answers the requests after Steps
	ID    string   // the result of Name; default script
	Facts llm.Info // the result of Info; a budget in USD needs its Price, which Script sets

	mu       sync.Mutex
	requests []*Request
	ids      atomic.Int64
}

// Name returns the model's ID.
func (m *Model) Name() string { return cmp.Or(m.ID, "script") }

// Info returns the model's Facts.
func (m *Model) Info() llm.Info { return m.Facts }

// Requests returns the requests so far, as [Server.Requests] does. Each is a copy that
// shares the caller's messages but does not see later appends of the caller.
func (m *Model) Requests() []*Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

func (m *Model) record(req *llm.Request) (*Request, int) {
	own := Request{Request: *req, Model: m.Name()}
	own.Messages, own.Tools, own.Stop = slices.Clip(req.Messages), slices.Clip(req.Tools), slices.Clip(req.Stop)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, &own)
	return &own, len(m.requests) - 1
}

// Stream plays the next step. A blocking request gets its answer in one delta.
// Usage that a step leaves out is 10 tokens in and 5 out.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		own, n := m.record(req)
		s := stepFor(m.Steps, m.Rule, own, n)
		if err := wait(ctx, s.Delay); err != nil {
			yield(llm.Delta{}, err)
			return
		}
		switch {
		case s.fails():
			yield(llm.Delta{}, s.failure())
		case s.Raw != nil:
			yield(llm.Delta{}, &llm.APIError{Class: llmconst.Protocol, Provider: provider, Status: s.Status, Message: "the reply is not what the API promises", RetryAfter: -1})
		case s.CutAfter < 0:
			yield(llm.Delta{}, s.cutFailure())
		default:
			m.answer(ctx, &own.Request, s, yield)
		}
	}
}

func (m *Model) answer(ctx context.Context, req *llm.Request, s Step, yield func(llm.Delta, error) bool) {
	r := s.response(req, func() string { return fmt.Sprintf("call_%06d", m.ids.Add(1)) })
	r.Model = cmp.Or(r.Model, m.Name())
	if r.Usage == (llm.Usage{}) {
		r.Usage = llm.Usage{Input: 10, Output: 5}
	}
	var deltas []llm.Delta
	if !req.Blocking {
		deltas = deltasOf(r.Message.Content, s.Pieces)
	}
	deltas = append(deltas, llm.Delta{Done: &r})
	for i, d := range deltas {
		if s.CutAfter > 0 && (i == s.CutAfter || req.Blocking) {
			yield(llm.Delta{}, s.cutFailure())
			return
		}
		pause := s.EventDelay
		if s.Stall > 0 && i == s.StallAfter {
			pause += s.Stall
		}
		if err := wait(ctx, pause); err != nil {
			yield(llm.Delta{}, err)
			return
		}
		if !yield(d, nil) {
			return
		}
	}
}

// deltasOf returns the deltas that content is streamed in.
func deltasOf(content llm.Blocks, pieces int) []llm.Delta {
	var ds []llm.Delta
	for i, b := range content {
		text := ""
		switch c := b.(type) {
		case llm.Text:
			b, text = llm.Text{}, c.Text
		case llm.Thinking:
			b, text = llm.Thinking{}, c.Text
		case llm.ToolUse:
			b, text = llm.ToolUse{ID: c.ID, Name: c.Name}, inputText(c)
		}
		ds = append(ds, llm.Delta{Index: i, Block: b})
		for _, p := range split(text, pieces) {
			ds = append(ds, llm.Delta{Index: i, Text: p})
		}
	}
	return ds
}
