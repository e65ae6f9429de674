package driver

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/metering"
	"github.com/openagent-go/agent/internal/pace"
	"github.com/openagent-go/agent/internal/quotawarning"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/trace"
)

// A Context is the context of one effect, or of other work of the run. It also shows
// signals. A tool, a model or a callback may keep it for too long, so each pending effect
// has its own.
type Context struct {
	cancellable
	run   *Run
	key   string            // key of the effect
	muted atomic.Bool       // its signals are no longer shown
	span  executor.OpenSpan // span of the effect, begun by the tracing code
	call  *event.Call       // that the effect is about; nil: none, or no reader
	meter *metering.Call    // for the quota; nil: none, or no model call
	shown lastShown
}

// lastShown is what an effect has shown last, for observers who come later.
type lastShown struct {
	mu     sync.Mutex
	text   string       // of the answer so far
	signal event.Signal // the last progress or question; nil: none
}

// A cancellable is a context with its end.
type cancellable struct {
	context.Context
	cancel context.CancelFunc
}

func newCancellable(parent context.Context) (c cancellable) {
	c.Context, c.cancel = context.WithCancel(parent)
	return c
}

// Value lets tools find the host of the run, see [HostOf].
func (n *Context) Value(key any) any {
	switch key {
	case hostKey{}:
		return n.run.host
	case pace.NoticeKey:
		return pace.NoticeFunc(n.waits)
	case quotawarning.Listener{}:
		return n.warns
	case metering.CallKey:
		return n.meter
	}
	return n.Context.Value(key)
}

// warns shows that much of a quota is spent.
func (n *Context) warns(w quotawarning.Warning) {
	n.Show(event.BudgetWarning{Account: w.Key, SpentUSD: w.SpentUSD, LimitUSD: w.LimitUSD})
}

func (n *Context) Watched() bool { return n.run.events != nil || n.run.host.Observed() }

func (n *Context) Show(sig event.Signal) {
	switch sig.(type) {
	case event.ToolProgress, event.PermissionRequest, event.UserQuestion:
		n.shown.mu.Lock()
		n.shown.signal = sig
		n.shown.mu.Unlock()
	}
	if !n.muted.Load() {
		n.run.show(event.Event{Session: n.run.x.Session, Data: sig, Call: n.call})
	}
}

func (n *Context) Text(key, text, soFar string) {
	if n.muted.Load() {
		return
	}
	n.shown.mu.Lock()
	n.shown.text = soFar
	n.shown.mu.Unlock()
	r := n.run
	if r.events != nil && !r.events.AppendText(key, text) {
		r.events.Put(event.Event{Session: r.x.Session, Data: event.TextDelta{Key: key, Text: text}})
	}
	if r.host.Observed() {
		r.host.Observe(event.Event{Session: r.x.Session, Data: event.TextDelta{Key: key, Text: text}}, soFar)
	}
}

func (n *Context) OpenSpan(end func(trace.End)) *executor.OpenSpan { return n.span.Begin(end) }

// Host returns the host of the run.
func (n *Context) Host() Host { return n.run.host }

// NewContext returns a context for the effect with the given key, or for other work beside
// the run. It ends with the run. Cancel it when you no longer need it.
func (r *Run) NewContext(key string) *Context {
	return &Context{cancellable: newCancellable(r.ctx), run: r, key: key}
}

// Cancel ends the context.
func (n *Context) Cancel() { n.cancel() }

type hostKey struct{}

// HostOf returns the host of the run from the context of an effect. It returns nil for any
// other context.
func HostOf(ctx context.Context) Host {
	h, _ := ctx.Value(hostKey{}).(Host)
	return h
}

// waits shows that a request waits for a rate limit. Call the returned function when the
// wait ends.
func (n *Context) waits(ctx context.Context, w pace.Waiting) func() {
	x, start, end := n.run.x, time.Now(), func(trace.End) {}
	n.Show(event.RateLimitWait{Key: n.key, Model: w.Model, Reason: string(w.Reason), Ahead: w.Ahead, Least: w.Least})
	if x.Trace != nil {
		_, end = x.Watch(ctx, trace.Span{Kind: "rate_limit", Name: string(w.Reason), Key: n.key})
	}
	var outer func()
	if fn, ok := n.Context.Value(pace.NoticeKey).(pace.NoticeFunc); ok && fn != nil {
		outer = safecall.Or(func() func() { return fn(ctx, w) }, nil)
	}
	return func() {
		e := trace.End{}
		if ctx.Err() != nil {
			e.Error = string(fact.ByCancel)
		}
		end(e)
		if outer != nil {
			safecall.Or(func() bool { outer(); return true }, false)
		}
		x.Tell(slog.LevelInfo, "waited for a rate limit", "model", w.Model, "for", w.Reason, "ahead", w.Ahead, "duration", time.Since(start))
	}
}
