package agent

import (
	"context"
	"log/slog"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/llm/limit"
	"github.com/openagent-go/agent/trace"
)

// A watchedRun is the span of a run.
type watchedRun struct {
	end  func(trace.End)
	fact event.Fact // how the run ended; nil: it is not on record
}

// observe begins the span of the run.
func (l *activeRun) observe(resumed bool) {
	if l.x.agent.Trace == nil {
		return
	}
	s := trace.Span{Kind: trace.Run, Name: l.x.agent.kindOrName(), Resumed: resumed}
	if b := l.x.agent.parentLink; b != nil {
		s.Origin = b.origin
	}
	l.span = new(watchedRun)
	l.ctx, l.span.end = l.x.Watch(l.ctx, s)
}

// finish ends the span.
func (r *watchedRun) finish() {
	e := trace.EndOf(r.fact)
	if r.fact == nil {
		e.Error = string(event.Internal)
	}
	r.end(e)
}

// waits shows that a request waits for a rate limit.
func (n *effectContext) waits(ctx context.Context, w limit.Waiting) func() {
	x, start, end := n.run.x, time.Now(), func(trace.End) {}
	n.Show(event.RateLimitWait{Key: n.key, Model: w.Model, Reason: string(w.Reason), Ahead: w.Ahead, Least: w.Least})
	if x.Trace != nil {
		_, end = x.Watch(ctx, trace.Span{Kind: trace.RateLimit, Name: string(w.Reason), Key: n.key})
	}
	var outer func()
	if fn, ok := n.Context.Value(limit.NoticeKey).(limit.NoticeFunc); ok && fn != nil {
		outer = safecall.Or(func() func() { return fn(ctx, w) }, nil)
	}
	return func() {
		e := trace.End{}
		if ctx.Err() != nil {
			e.Error = string(event.ByCancel)
		}
		end(e)
		if outer != nil {
			safecall.Or(func() bool { outer(); return true }, false)
		}
		x.Tell(slog.LevelInfo, "waited for a rate limit", "model", w.Model, "for", w.Reason, "ahead", w.Ahead, "duration", time.Since(start))
	}
}
