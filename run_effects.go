package agent

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/lazyctx"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/limit"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/trace"
)

// A pendingEffect is an effect that is being carried out.
type pendingEffect struct {
	key       string
	input     executor.Input
	ctx       *effectContext
	timer     *time.Timer   // in place of a goroutine, for an effect that only waits
	fact      event.Fact    // what came of it; nil: nothing
	notices   *notices      // likewise, of askNotices
	pool      *newPool      // likewise, of askToolsets
	wanted    bool          // by the engine, when it was last asked
	cancelled bool          // it was cancelled
	closing   bool          // it belongs to the end of a run that is being stopped
	giveUp    time.Time     // when it is waited for no longer; zero for never
	limit     time.Duration // the tool's timeout; 0 for none
	began     time.Time     // of RunTool
}

// pendingEffects are those of a run, in the order of their start.
type pendingEffects []*pendingEffect

// get returns the pending effect of a key, nil if there is none.
func (fs pendingEffects) get(key string) *pendingEffect {
	for _, f := range fs {
		if f.key == key {
			return f
		}
	}
	return nil
}

func (fs *pendingEffects) drop(f *pendingEffect) {
	if i := slices.Index(*fs, f); i >= 0 {
		*fs = slices.Delete(*fs, i, i+1)
	}
}

// firstGiveUp is when the first of them has to be given up, zero for never.
func (fs pendingEffects) firstGiveUp() (next time.Time) {
	for _, f := range fs {
		if !f.giveUp.IsZero() && (next.IsZero() || f.giveUp.Before(next)) {
			next = f.giveUp
		}
	}
	return next
}

// completedEffects have ended, and wait for the holder of the token.
type completedEffects struct {
	mu   sync.Mutex
	list []*pendingEffect
}

func (c *completedEffects) add(f *pendingEffect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, f)
}

// take returns the effects that wait, and forgets them.
func (c *completedEffects) take() []*pendingEffect {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.list
	c.list = nil
	return list
}

// A watchdog is the timer for pending effects that have to be given up. Only the
// goroutine that holds the run's token uses it.
type watchdog struct {
	timer *time.Timer // nil before it is needed
	at    time.Time   // when it goes off; zero when it does not
	stuck error       // of the last effect that did not end after its cancellation
}

// covers reports whether the timer goes off early enough.
func (w *watchdog) covers(next time.Time) bool { return !w.at.IsZero() && !next.Before(w.at) }

func (w *watchdog) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// An effectContext ties what carries out an effect to the run: its context, and where it
// shows signals. A tool, a model and a callback may hold on to it for longer than
// they were asked to, so that each pending effect has a new one.
type effectContext struct {
	lazyctx.Context
	run   *activeRun
	key   string            // of the effect
	muted atomic.Bool       // its signals are not shown any more
	span  executor.OpenSpan // of the effect; what traces it has begun it
}

// Value lets tools find the run, see [ParentOf].
func (n *effectContext) Value(key any) any {
	switch key {
	case runKey{}:
		return n.run
	case limit.NoticeKey:
		return limit.NoticeFunc(n.waits)
	}
	return n.Context.Value(key)
}

func (n *effectContext) Watched() bool { return n.run.events != nil }

func (n *effectContext) Show(sig event.Signal) {
	if n.Watched() && !n.muted.Load() {
		n.run.events.Put(event.Event{Session: n.run.s.ID, Data: sig})
	}
}

func (n *effectContext) Text(key, text string) {
	if n.Watched() && !n.muted.Load() && !n.run.events.AppendText(key, text) {
		n.Show(event.TextDelta{Key: key, Text: text})
	}
}

func (n *effectContext) OpenSpan(end func(trace.End)) *executor.OpenSpan { return n.span.Begin(end) }

// pendingFor returns a pending effect for an effect.
func (l *activeRun) pendingFor(e engine.Effect) *pendingEffect {
	f := &pendingEffect{key: e.Key(), ctx: &effectContext{run: l, key: e.Key()}, wanted: true}
	f.ctx.Parent = l.ctx
	f.input.Effect, f.input.Signals = e, f.ctx
	return f
}

func (f *pendingEffect) name() string {
	if f.input.Call.Name != "" {
		return f.input.Call.Name
	}
	return f.key
}

// cancel cancels a pending effect. It reports whether nothing will come of it any more.
func (f *pendingEffect) cancel() (over bool) {
	if f.timer != nil {
		return f.timer.Stop()
	}
	if !f.cancelled {
		f.cancelled, f.giveUp = true, time.Now().Add(executor.Grace+leeway)
		f.ctx.Cancel()
	}
	return false
}

// setDeadline bounds the time of a pending effect that is not to be cancelled.
func (f *pendingEffect) setDeadline() {
	if f.giveUp.IsZero() {
		f.cancelled, f.giveUp = true, time.Now().Add(executor.Grace+leeway)
	}
}

// leeway is how much longer than the tools' own grace the loop waits for a
// cancelled effect.
const leeway = time.Second

// overdue returns the fact of a wait that was over before it began, nil if there
// is none: the time of a run that is resumed late.
func (l *activeRun) overdue(effects []engine.Effect) event.Fact {
	for _, e := range effects {
		if w, ok := e.(engine.Wait); ok && l.pending.get(w.Key()) == nil && time.Until(w.Until) <= 0 {
			return event.Waited{Key: w.Key()}
		}
	}
	return nil
}

// startEffects starts the effects that are not pending, after recording their
// intents, and returns the one that is left for the caller to carry out. It
// reports whether the intents could not be recorded.
func (l *activeRun) startEffects(effects []engine.Effect) (mine *pendingEffect, failed bool) {
	var intents []event.Fact
	var ready []*pendingEffect
	for _, e := range effects {
		if l.pending.get(e.Key()) != nil {
			continue
		}
		f := l.pendingFor(e)
		l.conv.Prepare(l.x.Executor, &f.input)
		if intent := e.Intent(); intent != nil {
			intents = append(intents, intent)
		}
		ready = append(ready, f)
	}
	if l.commit(intents...) != nil {
		return nil, true
	}
	for _, f := range ready {
		l.register(f)
		if f.timer != nil {
			continue
		}
		if mine != nil {
			go func(f *pendingEffect) {
				if l.execute(f) {
					l.drive()
				}
			}(mine)
		}
		mine = f
	}
	return mine, false
}

// register makes an effect pending.
func (l *activeRun) register(f *pendingEffect) {
	l.pending = append(l.pending, f)
	switch e := f.input.Effect.(type) {
	case engine.Wait:
		f.timer = time.AfterFunc(time.Until(e.Until), func() {
			f.fact = event.Waited{Key: e.Key()}
			if l.complete(f) {
				l.drive()
			}
		})
	case engine.RunHooks, engine.GatherResults, engine.CallHooks:
		// Hooks may take secrets out of a result: those that are wanted to end a run
		// are not ended with it, and have a bounded time.
		f.closing = l.conv.State.Stopping()
		f.ctx.Detached = f.closing
	case engine.RunTool:
		f.began = time.Now()
		if f.limit = tool.Timeout(l.x.Tool(f.input.Call.Name)); f.limit > 0 {
			f.giveUp = f.began.Add(f.limit + executor.Grace)
		}
	}
}

// execute carries out a pending effect, without the token, and takes the token then. It
// reports false when the run has ended by then.
func (l *activeRun) execute(f *pendingEffect) (ok bool) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil { // runtime.Goexit: this goroutine is lost
			f.fact = l.broken(f, tool.Panicked, "it ended its goroutine without an answer (runtime.Goexit)")
			go func() {
				if l.complete(f) {
					l.drive()
				}
			}()
			return
		}
		why := l.x.Secrets.Text(fmt.Sprintf("panic: %v", v))
		l.x.Complain("an effect failed", "effect", f.key, "error", why, "stack", string(debug.Stack()))
		f.fact = l.broken(f, tool.Stuck, why)
		ok = l.complete(f)
	}()
	switch f.input.Effect.(type) {
	case askNotices:
		f.notices.texts = l.x.Notices()
		f.notices.notes = l.x.notes(&f.ctx.Context, f.notices.place)
		l.pollInbox(f.ctx)
	case askToolsets:
		f.pool = l.x.refreshTools(&f.ctx.Context, f.input.Model)
	default:
		f.fact = l.x.Do(f.ctx, &f.input)
	}
	returned = true
	return l.complete(f)
}

// complete hands over what came of a pending effect and takes the token.
func (l *activeRun) complete(f *pendingEffect) bool {
	l.completed.add(f)
	return l.takeToken()
}

// collect applies what came of the pending effects that have ended.
func (l *activeRun) collect() {
	completed := l.completed.take()
	if len(completed) > 0 && l.ctx.Err() != nil && !l.stopped && !l.ending { // what they report may come of that
		l.stop()
	}
	var facts []event.Fact
	for _, f := range completed {
		if !slices.Contains(l.pending, f) { // it was given up
			continue
		}
		l.pending.drop(f)
		if waits := l.takeSuspended(f); len(waits) > 0 {
			facts = append(facts, waits...)
		} else if f.fact != nil && f.wanted && !l.ending && !l.arrivedLate(f.fact) {
			facts = append(append(facts, f.fact), f.input.More...)
		}
		if f.notices != nil {
			for _, text := range f.notices.texts {
				facts = append(facts, Input{Text: text}.message(event.AsNotice))
			}
			facts = append(facts, l.x.brief(l.conv.State, f.notices.notes)...)
		}
		if f.pool != nil && !l.ending {
			facts = append(facts, l.takeFresh(f.pool)...)
		}
		_, heard := f.input.Effect.(askNotices)
		l.poll.done = l.poll.done || heard
		f.ctx.Cancel()
		f.ctx.muted.Store(true)
	}
	l.apply(facts...)
}

// arrivedLate reports whether a decision comes too late to count.
func (l *activeRun) arrivedLate(f event.Fact) bool {
	switch f.(type) {
	case event.Authorized, event.Answered, event.Checkpointed:
		return l.conv.State.Stopping()
	}
	return false
}

// cancelUnwanted cancels what is not wanted any more, and everything pending when the
// run is being stopped.
func (l *activeRun) cancelUnwanted(effects []engine.Effect) {
	stopping := l.conv.State.Stopping()
	l.pending = slices.DeleteFunc(l.pending, func(f *pendingEffect) (over bool) {
		switch f.input.Effect.(type) {
		case askNotices, askToolsets:
			return false
		case engine.RunHooks, engine.GatherResults, engine.CallHooks:
			if f.closing {
				f.setDeadline()
				return false
			}
		}
		f.wanted = slices.ContainsFunc(effects, func(e engine.Effect) bool { return e.Key() == f.key })
		if !f.wanted {
			f.ctx.muted.Store(true)
		}
		return (stopping || !f.wanted) && f.cancel()
	})
}

// armWatchdog sets the timer for the next pending effect that has to be given up.
func (l *activeRun) armWatchdog() {
	next := l.pending.firstGiveUp()
	switch {
	case next.IsZero() || l.watchdog.covers(next):
		return
	case l.watchdog.timer == nil:
		l.watchdog.timer = time.AfterFunc(time.Until(next), func() {
			if l.takeToken() {
				l.watchdog.at = time.Time{}
				l.guard(l.giveUp)
				l.drive()
			}
		})
	default:
		l.watchdog.timer.Reset(time.Until(next))
	}
	l.watchdog.at = next
}

// giveUp gives up the pending effects that did not end in time after their cancellation
// or their timeout. Their goroutines live on until they return.
func (l *activeRun) giveUp() error {
	var facts []event.Fact
	for _, f := range slices.Clone(l.pending) {
		if f.giveUp.IsZero() || time.Until(f.giveUp) > 0 {
			continue
		}
		l.pending.drop(f)
		f.ctx.muted.Store(true)
		f.ctx.Cancel()
		var fact event.Fact
		if f.cancelled {
			l.watchdog.stuck = fmt.Errorf("%w: %s", ErrToolStuck, f.name())
			fact = l.broken(f, tool.Stuck, "it did not end after its cancellation")
		} else {
			fact = l.broken(f, tool.Stuck, fmt.Sprintf("it timed out after %v and did not stop", f.limit))
		}
		f.ctx.span.End(fact)
		l.x.Complain("an effect did not end in time", "effect", f.key, "name", f.name())
		if fact != nil && f.wanted && !l.ending {
			facts = append(facts, fact)
		}
	}
	if len(facts) == 0 {
		return nil
	}
	return l.commit(facts...)
}

// broken makes the fact of an effect that went wrong in the program itself.
func (l *activeRun) broken(f *pendingEffect, fault tool.Fault, why string) event.Fact {
	switch e := f.input.Effect.(type) {
	case engine.CallModel:
		return event.ModelFailed{Key: e.Key(), Model: e.Model, Class: llm.Protocol, Message: "the model's client failed: " + why}
	case engine.RunTool:
		return event.ToolResult{Key: e.Key(), Call: e.Call, Cause: event.ByCancel, Fault: fault, Duration: time.Since(f.began),
			Result: *tool.Errorf("%s: %s; what it has done is not known", f.name(), why)}
	case engine.AskPerson:
		return event.ToolAmended{Key: e.Key(), Call: e.Call, Result: f.input.Done.Result}
	case engine.Digest:
		return event.ToolAmended{Key: e.Key(), Call: e.Call, Result: f.input.Done.Result}
	case engine.Compact:
		return event.ModelFailed{Key: e.Key(), Model: e.Model, Class: llm.Protocol, Message: "the summary failed: " + why}
	case engine.Cut:
		return event.Compacted{Key: e.Key(), Trigger: event.Overflow, Failed: "cutting failed: " + why, Before: e.Before, After: e.Before}
	case engine.CallHooks: // what hooks would have kept away is not known
		hooked := event.Hooked{Key: e.Key(), Event: e.Event, Message: e.Message}
		if e.Event.Guards() {
			hooked.Block = why
		}
		return hooked
	case engine.CheckOutput:
		return event.OutputChecked{Key: e.Key(), Call: e.Call, Problem: "it could not be checked: " + why}
	case engine.TakeCheckpoint:
		return event.Checkpointed{Key: e.Key(), Prompt: e.Prompt, Error: why}
	case engine.GatherResults:
		return event.ToolResult{Key: e.Key(), Call: e.Call, Cause: event.ByTool, Result: f.input.Done.Result}
	case engine.RunHooks: // what they would have taken out is not known
		return event.ToolResult{Key: e.Key(), Call: e.Call, Cause: f.input.Done.Cause, Fault: f.input.Done.Fault,
			Result: *tool.Errorf("the result of %s is withheld: a hook that was to see it failed: %s", f.name(), why)}
	case engine.Authorize:
		return event.Authorized{Key: e.Key(), Call: e.Call, Decision: permission.Decision{Behavior: permission.Denied, Source: permission.FromDefault, Reason: why}}
	case engine.Ask:
		return event.Answered{Key: e.Key(), Call: e.Call, Decision: permission.Decision{Behavior: permission.Denied, Source: permission.FromDefault, Reason: why}}
	}
	return nil
}
