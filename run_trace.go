package agent

import (
	"context"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/trace"
)

// A watchedRun is the span of a run.
type watchedRun struct {
	end  func(trace.End)
	fact event.Fact // how the run ended; nil: the end is not on record
}

// observe begins the span of the run, and returns the run's context.
func (l *activeRun) observe(resumed bool) context.Context {
	if l.x.agent.Trace == nil {
		return l.Context()
	}
	s := trace.Span{Kind: "run", Name: l.x.agent.kindOrName(), Resumed: resumed}
	if b := l.x.agent.parentLink; b != nil {
		s.Origin = b.origin
	}
	l.span = new(watchedRun)
	ctx, end := l.x.Watch(l.Context(), s)
	l.span.end = end
	return ctx
}

// finish ends the span.
func (r *watchedRun) finish() {
	e := executor.EndOf(r.fact)
	if r.fact == nil {
		e.Error = string(event.Internal)
	}
	r.end(e)
}
