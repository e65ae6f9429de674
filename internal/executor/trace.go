package executor

import (
	"context"
	"sync/atomic"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/internal/tracefile"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/trace"
)

// Watch begins a span in the agent's tracer, which must not be nil. The returned context
// and function are never nil. A panic of the tracer does not affect the run.
func (x *Executor) Watch(ctx context.Context, s trace.Span) (context.Context, func(trace.End)) {
	s.Session, s.Agent = x.Session, x.Name
	if s.Root = x.Root; s.Root == "" {
		s.Root = s.Session
	}
	type begun struct {
		ctx context.Context
		end func(trace.End)
	}
	b := safecall.Or(func() begun {
		inner, end := x.Trace(ctx, s)
		return begun{inner, end}
	}, begun{})
	if b.ctx == nil {
		b.ctx = ctx
	}
	return b.ctx, func(e trace.End) {
		if b.end != nil {
			safecall.Or(func() bool { b.end(e); return true }, false)
		}
	}
}

// spanOf returns the span of an effect, if it has one.
func (x *Executor) spanOf(j *Input) (s trace.Span, ok bool) {
	s.Key = j.Effect.Key()
	switch e := j.Effect.(type) {
	case engine.CallModel:
		s.Kind, s.Name, s.Tries, s.Request = "model", e.Model, e.Tries, j.Request
	case engine.Digest:
		s.Kind, s.Name, s.Call = "model", e.Model, e.Call
	case engine.RunTool:
		s.Kind, s.Name, s.Call, s.ToolID, s.Input = "tool", j.Call.Name, e.Call, j.ID, x.Secrets.Now().JSON(j.Call.Input)
	case engine.Ask:
		s.Kind, s.Name, s.Call = "permission", j.Call.Name, e.Call
	case engine.AskPerson:
		s.Kind, s.Name, s.Call = "question", j.Call.Name, e.Call
	case engine.Compact:
		s.Kind, s.Name = "compaction", string(e.Trigger)
	case engine.Cut:
		s.Kind, s.Name = "compaction", string(fact.Overflow)
	case engine.TakeCheckpoint:
		s.Kind = "checkpoint"
	default:
		return s, false
	}
	if j.Model != nil {
		s.Provider = llm.InfoOf(j.Model).Provider
	}
	return s, true
}

// observed is perform within a span.
func (x *Executor) observed(ctx context.Context, j *Input) (fact event.Fact) {
	s, ok := x.spanOf(j)
	if !ok {
		return x.perform(ctx, j)
	}
	ctx, end := x.Watch(ctx, s)
	open := j.Signals.OpenSpan(end)
	defer func() { open.End(fact) }() // also after a panic
	return x.perform(ctx, j)
}

// An OpenSpan is the span of a running effect. It ends once: when the effect ends, or when
// the run gives up the effect.
type OpenSpan struct {
	atomic.Pointer[func(trace.End)]
}

// Begin opens the span.
func (s *OpenSpan) Begin(end func(trace.End)) *OpenSpan {
	s.Store(&end)
	return s
}

func (s *OpenSpan) End(fact event.Fact) {
	if end := s.Swap(nil); end != nil {
		(*end)(EndOf(fact))
	}
}

// EndOf returns the end of a span that ends with a fact.
func EndOf(f event.Fact) trace.End {
	failure, message := tracefile.Failure(f)
	return trace.End{Error: failure, Message: message, Fact: f}
}

// endOfHooks returns the end of the span of an event's hooks. Their texts are already
// masked.
func endOfHooks(out *hookrun.Outcome) trace.End {
	switch {
	case len(out.Errors) > 0:
		return trace.End{Error: "error", Message: "a hook failed"}
	case out.Block || out.Stop || out.Permission == permission.Denied:
		return trace.End{Error: "blocked", Message: out.Reason}
	}
	return trace.End{}
}
