package driver

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/metering"
	"github.com/openagent-go/agent/internal/toolrun"
)

// An OwnEffect is an effect of the host, unknown to the engine. It carries itself out. The
// run waits for it as for any other effect, but for no longer than the grace time.
type OwnEffect interface {
	engine.Effect
	// Do carries it out. It runs without the token.
	Do(*Context)
	// Facts returns the facts of the effect. It is called with the token, and only if the
	// effect ended in time.
	Facts(ending bool) []event.Fact
	// GaveUp is called with the token if Do took too long. Do may still be running.
	GaveUp()
}

// pendingFor returns a new pending effect. Calls are judged and run one after the other with
// the same context where nobody has cancelled it: only contexts made of it leave the
// executor, and those end with the callback, hook or tool that got them.
func (r *Run) pendingFor(e engine.Effect) *pendingEffect {
	f := &pendingEffect{wanted: true}
	parent := r.ctx
	switch e.(type) {
	case engine.Authorize, engine.RunTool:
		f.borrowed = r.x.Trace == nil // a tracer may keep its context
	case engine.RunHooks, engine.GatherResults, engine.CallHooks:
		// Hooks may remove secrets from a result. So hooks that are needed to end a run are
		// not cancelled with it, but get a time limit.
		if f.closing = r.conv.State.Stopping(); f.closing {
			parent = context.WithoutCancel(parent)
		}
	}
	f.ctx.run, f.ctx.key = r, e.Key()
	if f.borrowed && r.spare.cancel != nil {
		f.ctx.cancellable, r.spare = r.spare, cancellable{}
	} else {
		f.ctx.cancellable = newCancellable(parent)
	}
	f.input.Effect, f.input.Signals = e, &f.ctx
	return f
}

// startOwn makes the host's next effect pending, if there is one.
func (r *Run) startOwn(effects []engine.Effect) (mine *pendingEffect, waits bool) {
	own, waits := r.host.OwnEffect(effects)
	if own == nil {
		return nil, waits
	}
	f := r.pendingFor(own)
	f.giveUp = time.Now().Add(executor.Grace)
	r.pending = append(r.pending, f)
	return f, false
}

// overdue returns the fact of a wait whose time has already passed, nil if there is none.
// This happens if you resume a run late.
func (r *Run) overdue(effects []engine.Effect) event.Fact {
	for _, e := range effects {
		if w, ok := e.(engine.Wait); ok && r.pending.get(w.Key()) == nil && time.Until(w.Until) <= 0 {
			return fact.Waited{Key: w.Key()}
		}
	}
	return nil
}

// startEffects starts the effects that are not pending, after it has recorded their
// intents. It returns one effect for the caller to carry out. failed: the intents could not
// be recorded.
func (r *Run) startEffects(effects []engine.Effect) (mine *pendingEffect, failed bool) {
	var intents []event.Fact
	var ready []*pendingEffect
	for _, e := range effects {
		if r.pending.get(e.Key()) != nil {
			continue
		}
		f := r.pendingFor(e)
		r.conv.Prepare(r.x, &f.input)
		if call := f.input.Call.ID; call != "" && f.ctx.Watched() {
			f.ctx.call = r.conv.Transcript.Call(call).Shown()
		}
		if intent := e.Intent(); intent != nil {
			intents = append(intents, intent)
		}
		ready = append(ready, f)
	}
	if r.Commit(intents...) != nil {
		return nil, true
	}
	if r.x.Meter != nil {
		r.meter(ready)
	}
	for _, f := range ready {
		r.register(f)
		if f.timer != nil {
			continue
		}
		if mine != nil {
			go func(f *pendingEffect) {
				if r.execute(f) {
					r.drive()
				}
			}(mine)
		}
		mine = f
	}
	return mine, false
}

// meter tells the quota which effects are model calls. Their starts are on record.
func (r *Run) meter(ready []*pendingEffect) {
	for _, c := range r.conv.State.OpenCalls() {
		for _, f := range ready {
			if f.key() == c.Key {
				f.ctx.meter = metering.NewCall(r.x.Session, cmp.Or(r.x.Root, r.x.Session), c.Key, c.Since)
			}
		}
	}
}

// register makes an effect pending.
func (r *Run) register(f *pendingEffect) {
	r.pending = append(r.pending, f)
	switch e := f.input.Effect.(type) {
	case engine.Wait:
		f.timer = time.AfterFunc(time.Until(e.Until), func() {
			f.fact = fact.Waited{Key: e.Key()}
			if r.complete(f) {
				r.drive()
			}
		})
	case engine.RunTool:
		f.began = time.Now()
		if f.limit = toolrun.Timeout(r.x.Tool(f.input.Call.Name)); f.limit > 0 {
			f.giveUp = f.began.Add(f.limit + executor.Grace)
		}
	}
}

// execute carries out a pending effect without the token, and then takes the token. It
// reports false if the run has ended.
func (r *Run) execute(f *pendingEffect) (ok bool) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil { // runtime.Goexit ends this goroutine
			f.fact = f.broken(toolrun.Panicked, "it ended its goroutine without an answer (runtime.Goexit)")
			go func() {
				if r.complete(f) {
					r.drive()
				}
			}()
			return
		}
		why := r.x.Secrets.Text(fmt.Sprintf("panic: %v", v))
		r.x.Complain("an effect failed", "effect", f.key(), "error", why, "stack", string(debug.Stack()))
		f.fact = f.broken(toolrun.Stuck, why)
		ok = r.complete(f)
	}()
	if own, is := f.input.Effect.(OwnEffect); is {
		own.Do(&f.ctx)
	} else {
		f.fact = r.x.Do(&f.ctx, &f.input)
	}
	returned = true
	return r.complete(f)
}

// complete hands over the fact of a pending effect and takes the token. It reports false if
// the run has ended.
func (r *Run) complete(f *pendingEffect) bool {
	r.completed.add(f)
	return r.takeToken()
}

// collect applies the facts of the completed effects.
func (r *Run) collect() {
	completed := r.completed.take()
	if len(completed) > 0 && r.ctx.Err() != nil && !r.stopped && !r.ending && (r.detached == nil || !r.detached.holds()) { // their facts may result from the cancellation
		r.stop()
	}
	var facts []event.Fact
	for _, f := range completed {
		if !slices.Contains(r.pending, f) { // it was given up
			continue
		}
		r.pending.drop(f)
		if f.cancelled && r.detached != nil {
			f.fact = r.detached.outcome(f)
		}
		if instead, ok := r.takeInstead(f); ok {
			facts = append(facts, instead...)
		} else if f.fact != nil && f.wanted && !r.ending && !r.arrivedLate(f.fact) {
			facts = append(append(facts, f.fact), f.input.More...)
		}
		if own, is := f.input.Effect.(OwnEffect); is {
			facts = append(facts, own.Facts(r.ending)...)
		}
		f.ctx.muted.Store(true)
		if f.borrowed && !f.cancelled && r.spare.cancel == nil {
			r.spare = f.ctx.cancellable
		} else {
			f.ctx.Cancel()
		}
	}
	clear(completed) // the reused list must not keep effects alive
	r.apply(facts...)
}

// RecordInstead records a fact in place of the result of a running call, once the call has
// returned. With a nil fact it records nothing, as if the program had died during the call.
func (r *Run) RecordInstead(call string, f event.Fact) {
	r.instead = append(r.instead, insteadOf{call, f})
}

// takeInstead returns the facts to record in place of the result of a call. ok is false if
// the result counts.
func (r *Run) takeInstead(f *pendingEffect) (facts []event.Fact, ok bool) {
	e, is := f.input.Effect.(engine.RunTool)
	if !is || len(r.instead) == 0 {
		return nil, false
	}
	r.instead = slices.DeleteFunc(r.instead, func(in insteadOf) bool {
		if in.call == e.Call && f.wanted && !r.ending {
			ok = true
			if in.fact != nil {
				facts = append(facts, in.fact)
			}
		}
		return in.call == e.Call
	})
	return facts, ok
}

// arrivedLate reports whether a decision or checkpoint comes too late to count.
func (r *Run) arrivedLate(f event.Fact) bool {
	switch f.(type) {
	case fact.Authorized, fact.Answered, fact.Checkpointed:
		return r.conv.State.Stopping()
	}
	return false
}

// cancelUnwanted cancels the effects that the engine no longer wants. If the run is being
// stopped, it cancels all pending effects, except those that end the run.
func (r *Run) cancelUnwanted(effects []engine.Effect) {
	stopping := r.conv.State.Stopping()
	r.pending = slices.DeleteFunc(r.pending, func(f *pendingEffect) (over bool) {
		switch f.input.Effect.(type) {
		case OwnEffect:
			return false
		case engine.RunHooks, engine.GatherResults, engine.CallHooks:
			if f.closing {
				f.setDeadline()
				return false
			}
		}
		f.wanted = slices.ContainsFunc(effects, func(e engine.Effect) bool { return e.Key() == f.key() })
		if !f.wanted {
			f.ctx.muted.Store(true)
		}
		return (stopping || !f.wanted) && f.cancel()
	})
}
