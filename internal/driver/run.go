// Package driver drives a run. It asks the engine for effects, carries them out and records
// the resulting facts. It knows no sessions and no agents. A session is the [Host] of its
// run, and a [Log] records the facts.
package driver

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/eventqueue"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/permission"
)

// A Run is one run. It advances when an effect ends or someone calls With; otherwise it is
// idle. Only the goroutine that holds the ownership token may touch the conversation, the
// log and the pending effects. The goroutine of an effect that has ended takes the token
// and advances the run. So a run without parallel effects needs only one goroutine.
//
// [Run.With] holds the token during its call. The other exported methods need the token, or
// a run that is done. Begin, Cancel, Context, Done, Events, NewContext and Show do not.
type Run struct {
	host  Host
	x     *executor.Executor
	conv  *conversation.Conversation
	errs  Errors
	token chan struct{} // capacity one; holds the token while no goroutine advances the run
	done  chan struct{} // closed last

	ctx    context.Context // context of the whole run; its end stops the run
	cancel context.CancelCauseFunc
	ignore func() bool       // stops watching ctx
	events *eventqueue.Queue // nil without a reader; safe without the token

	// Only the goroutine that holds the token uses these fields, until done is closed.
	committer committer
	pending   pendingEffects
	spare     cancellable // context for the next call that is judged or run, see [Run.pendingFor]
	watchdog  watchdog
	instead   []insteadOf     // facts to record in place of results of running calls
	mode      permission.Mode // the mode that the executor has
	next      []event.Fact    // first facts of this run, to commit after an earlier run is closed
	stopped   bool            // the end of ctx is on record
	ending    bool            // the run only waits for pending effects
	detached  detacher        // nil: nobody has asked the run to stop early

	completed completedEffects // has its own lock
}

// An insteadOf is a fact to record in place of the result of a call.
type insteadOf struct {
	call string
	fact event.Fact
}

// A Host owns a run, such as a session. The goroutine that holds the token calls its
// methods, unless they say otherwise.
type Host interface {
	// OwnEffect returns an effect of the host that must run before the effects that the
	// engine wants, nil if there is none. waits: such an effect is pending, and the run
	// waits for it.
	OwnEffect(wanted []engine.Effect) (own OwnEffect, waits bool)
	// Applied is called after each fact is applied. The fact may not be on record yet.
	Applied(event.Fact)
	// Recorded is called after facts were recorded and shown. It must not keep the list.
	Recorded([]event.Event)
	// Observed reports whether anyone but the reader of the events wants signals. Observed
	// and Observe need no token.
	Observed() bool
	// Observe passes a signal on. soFar is the whole text of an answer up to a text delta
	// and with it, "" for other signals.
	Observe(e event.Event, soFar string)
	// Closed is called at the end, before the reader of the events sees it.
	Closed()
}

// A Config holds the parts of a run.
type Config struct {
	Host         Host
	Executor     *executor.Executor
	Conversation *conversation.Conversation
	Log          Log
	Events       *eventqueue.Queue // nil: the events have no reader
	Errors       Errors
}

// Errors are the errors that errors of a run wrap.
type Errors struct {
	Internal error // the run failed because of a fault in the program
	Stuck    error // an effect did not end after its cancellation
}

// Init prepares a run, which ends with ctx. The caller holds its token until Begin.
func (r *Run) Init(ctx context.Context, c Config) {
	r.host, r.x, r.conv, r.errs, r.events = c.Host, c.Executor, c.Conversation, c.Errors, c.Events
	r.committer.log, r.committer.session = c.Log, c.Executor.Session
	r.token, r.done = make(chan struct{}, 1), make(chan struct{})
	r.ctx, r.cancel = context.WithCancelCause(ctx)
}

// Begin starts the run in the calling goroutine. ctx is the run's context, perhaps with
// more values. closing are facts that close an earlier run, if any. They are recorded
// before first, the first facts of this run. then is called once the facts are on record;
// it may be nil.
func (r *Run) Begin(ctx context.Context, closing, first []event.Fact, then func()) {
	r.ctx = ctx
	r.ignore = context.AfterFunc(ctx, func() {
		if r.takeToken() {
			r.drive()
		}
	})
	r.guard(func() error {
		if len(closing) > 0 {
			r.next, first = first, closing
		}
		err := r.Commit(first...)
		if then != nil {
			then()
		}
		return err
	})
	r.drive()
}

// Context returns the context of the whole run.
func (r *Run) Context() context.Context { return r.ctx }

// Cancel ends the context of the run, which stops the run.
func (r *Run) Cancel(cause error) { r.cancel(cause) }

// Done returns a channel that is closed when the run is over.
func (r *Run) Done() <-chan struct{} { return r.done }

// Events returns the queue of events for the reader, nil without a reader. It needs no
// token.
func (r *Run) Events() *eventqueue.Queue { return r.events }

// With calls do with the token. ok is false if the run is over, or only waits for its last
// effects; then do was not called.
func (r *Run) With(ctx context.Context, do func() error) (ok bool, err error) {
	select {
	case <-r.token:
	case <-r.done:
		return false, nil
	case <-ctx.Done():
		return true, ctx.Err()
	}
	if ok = !r.ending; ok {
		err = r.guard(do)
	}
	go r.drive() // the caller does not wait for the rest
	return ok, err
}

// takeToken waits for the ownership token. It reports false if the run is over.
func (r *Run) takeToken() bool {
	select {
	case <-r.token:
		return true
	default:
	}
	select {
	case <-r.token:
		return true
	case <-r.done:
		return false
	}
}

// drive advances the run while this goroutine has effects to carry out. The caller holds
// the token.
func (r *Run) drive() {
	for f := r.advance(); f != nil && r.execute(f); f = r.advance() {
	}
}

// advance does everything that can be done now, and gives the token back. It returns a
// pending effect for the caller to carry out, nil if there is none.
func (r *Run) advance() (mine *pendingEffect) {
	r.guard(func() error {
		r.collect()
		for !r.ending && mine == nil {
			switch {
			case r.committer.failed != nil:
				r.wrapUp()
			case r.detached != nil && r.detached.holds():
				if waits := r.detached.rest(); waits {
					return nil
				}
			case r.conv.State.Running():
				if resting := r.step(&mine); resting {
					return nil
				}
			case r.next != nil:
				first := r.next
				r.next, r.stopped = nil, false // these belonged to the earlier run
				r.Commit(first...)
			default:
				r.Commit()
				r.wrapUp()
			}
		}
		return nil
	})
	if r.ending && len(r.pending) == 0 {
		r.close()
		return nil
	}
	r.armWatchdog()
	r.token <- struct{}{}
	return mine
}

// step does one step of an open run. resting: the run has nothing to do but wait.
func (r *Run) step(mine **pendingEffect) (resting bool) {
	effects := r.conv.State.Effects()
	if own, waits := r.startOwn(effects); own != nil || waits {
		*mine = own
		return r.Commit() == nil
	}
	if rec, ok := effects[0].(engine.Record); ok {
		r.Commit(rec.Facts...)
		return false
	}
	r.cancelUnwanted(effects)
	if !r.stopped && r.ctx.Err() != nil { // start nothing for a caller that is gone
		r.stop()
		return false
	}
	if f := r.overdue(effects); f != nil { // before paying for an answer that comes too late
		r.Commit(f)
		return false
	}
	recorded := false
	*mine, recorded = r.startEffects(effects)
	return !recorded
}

// guard calls fn and recovers from its panics, so that a fault in the program ends the run
// in order.
func (r *Run) guard(fn func() error) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		why := "runtime.Goexit"
		if v != nil {
			why = r.x.Secrets.Text(fmt.Sprintf("panic: %v", v))
		}
		r.x.Complain("the loop failed", "error", why, "stack", string(debug.Stack()))
		r.collapse(why)
		if err = r.committer.failed; v == nil { // this goroutine ends, so another one must use its token
			go r.drive()
		}
	}()
	err = fn()
	returned = true
	return err
}

// collapse records that the run failed because of a fault in the program, if that is still
// possible.
func (r *Run) collapse(why string) {
	failed := fmt.Errorf("agent: %w: %s", r.errs.Internal, why)
	safecall.Or(func() error {
		if end, open := r.conv.State.SoFar(); open {
			end.Message = why
			return r.Commit(end)
		}
		return nil
	}, nil)
	r.committer.failed = failed
	r.wrapUp()
}

// stop records that the caller's context has ended.
func (r *Run) stop() {
	r.stopped = true
	if r.conv.State.Stopping() {
		return
	}
	r.Commit(fact.Stopped{Reason: event.Interrupted, Message: context.Cause(r.ctx).Error(), Cleared: r.conv.State.Queued()})
}

// wrapUp ends the run: it cancels the pending effects, and the run only waits for them.
func (r *Run) wrapUp() {
	r.ending = true
	r.cancel(context.Canceled)
	r.pending = slices.DeleteFunc(r.pending, func(f *pendingEffect) (over bool) {
		f.ctx.muted.Store(true)
		return f.cancel()
	})
}

// close closes the queue of events and ends the run. It never gives the token back.
func (r *Run) close() {
	r.ignore()
	r.watchdog.stop()
	r.committer.release()
	leave := func() {}
	if r.detached != nil {
		leave = r.detached.leave()
	}
	r.host.Closed()
	leave()
	if r.events != nil {
		r.events.Close()
	}
	close(r.done)
}
