package agent

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

// watch tells the agent's tracer, which there is, that something begins. What it
// returns never is nil, and what the tracer does wrong does not disturb the run.
func (x *executor) watch(ctx context.Context, s trace.Span) (context.Context, func(trace.End)) {
	s.Session, s.Agent = x.session, x.name
	if s.Root = x.root; s.Root == "" {
		s.Root = s.Session
	}
	type begun struct {
		ctx context.Context
		end func(trace.End)
	}
	b := safecall.Or(func() begun {
		inner, end := x.trace(ctx, s)
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
func (x *executor) spanOf(j *effectInput) (s trace.Span, ok bool) {
	s.Key = j.effect.Key()
	switch e := j.effect.(type) {
	case engine.CallModel:
		s.Kind, s.Name, s.Tries, s.Request = trace.Model, e.Model, e.Tries, j.request
	case engine.Digest:
		s.Kind, s.Name, s.Call = trace.Model, e.Model, e.Call
	case engine.RunTool:
		s.Kind, s.Name, s.Call, s.ToolID, s.Input = trace.Tool, j.call.Name, e.Call, j.id, x.secrets.Now().JSON(j.call.Input)
	case engine.Ask:
		s.Kind, s.Name, s.Call = trace.Permission, j.call.Name, e.Call
	case engine.AskPerson:
		s.Kind, s.Name, s.Call = trace.Question, j.call.Name, e.Call
	case engine.Compact:
		s.Kind, s.Name = trace.Compaction, string(e.Trigger)
	case engine.Cut:
		s.Kind, s.Name = trace.Compaction, string(event.Overflow)
	case engine.TakeCheckpoint:
		s.Kind = trace.Checkpoint
	default:
		return s, false
	}
	if j.model != nil {
		s.Provider = llm.InfoOf(j.model).Provider
	}
	return s, true
}

// observed is do within a span.
func (x *executor) observed(ctx context.Context, j *effectInput) (fact event.Fact) {
	s, ok := x.spanOf(j)
	if !ok {
		return x.perform(ctx, j)
	}
	ctx, end := x.watch(ctx, s)
	open := j.signals.openSpan(end)
	defer func() { open.end(fact) }() // also of a panic
	return x.perform(ctx, j)
}

// An openSpan is the span of an effect that is being carried out. It ends once: when the
// effect does, or when the run gives the effect up.
type openSpan struct {
	atomic.Pointer[func(trace.End)]
}

// begin opens the span.
func (s *openSpan) begin(end func(trace.End)) *openSpan {
	s.Store(&end)
	return s
}

func (s *openSpan) end(fact event.Fact) {
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
