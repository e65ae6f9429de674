package executor

import (
	"context"
	"sync/atomic"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/trace"
)

// Watch tells the agent's tracer, which there is, that something begins. What it
// returns never is nil, and what the tracer does wrong does not disturb the run.
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

// spanOf is the span of a job, if it has one.
func (x *Executor) spanOf(j *Input) (s trace.Span, ok bool) {
	s.Key = j.Effect.Key()
	switch e := j.Effect.(type) {
	case engine.CallModel:
		s.Kind, s.Name, s.Tries, s.Request = trace.Model, e.Model, e.Tries, j.Request
	case engine.Digest:
		s.Kind, s.Name, s.Call = trace.Model, e.Model, e.Call
	case engine.RunTool:
		s.Kind, s.Name, s.Call, s.ToolID, s.Input = trace.Tool, j.Call.Name, e.Call, j.ID, x.Secrets.Now().JSON(j.Call.Input)
	case engine.Ask:
		s.Kind, s.Name, s.Call = trace.Permission, j.Call.Name, e.Call
	case engine.AskPerson:
		s.Kind, s.Name, s.Call = trace.Question, j.Call.Name, e.Call
	case engine.Compact:
		s.Kind, s.Name = trace.Compaction, string(e.Trigger)
	case engine.Cut:
		s.Kind, s.Name = trace.Compaction, string(event.Overflow)
	case engine.TakeCheckpoint:
		s.Kind = trace.Checkpoint
	default:
		return s, false
	}
	if j.Model != nil {
		s.Provider = llm.InfoOf(j.Model).Provider
	}
	return s, true
}

// observed is do within a span.
func (x *Executor) observed(ctx context.Context, j *Input) (fact event.Fact) {
	s, ok := x.spanOf(j)
	if !ok {
		return x.perform(ctx, j)
	}
	ctx, end := x.Watch(ctx, s)
	open := j.Signals.OpenSpan(end)
	defer func() { open.End(fact) }() // also of a panic
	return x.perform(ctx, j)
}

// An OpenSpan is the span of an effect that is being carried out. It ends once: when the
// effect does, or when the run gives the effect up.
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
		(*end)(trace.EndOf(fact))
	}
}

// endOfHooks is what the hooks of an event have come to. What they say is masked.
func endOfHooks(out *hook.Outcome) trace.End {
	switch {
	case len(out.Errors) > 0:
		return trace.End{Error: "error", Message: "a hook failed"}
	case out.Block || out.Stop || out.Permission == permission.Denied:
		return trace.End{Error: "blocked", Message: out.Reason}
	}
	return trace.End{}
}
