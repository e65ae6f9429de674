// Package driver drives a run: it asks the engine for effects, has them carried out, and
// records the facts that they give. It knows no session and no agent. Who the run belongs
// to is its [Host]; where facts are recorded is its [Log].
package driver

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/internal/eventqueue"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/permission"
)

// A Run is one run. It works while something has happened and rests while effects are
// carried out. Only the goroutine that holds the ownership token touches the
// conversation, the log and the pending effects. The goroutine of an effect that has
// ended takes the token and goes on with the run. So a run that does one thing after the
// other needs one goroutine. [Run.With] has the token while it calls. All exported methods
// but With, Begin, Cancel, Context, Done and NewContext need the token, or a run that is
// done.
type Run struct {
	host  Host
	x     *executor.Executor
	conv  *conversation.Conversation
	errs  Errors
	token chan struct{} // has room for one: it lies here while nobody works on the run
	done  chan struct{} // closed after everything else

	ctx    context.Context // of the whole run; its end stops the run
	cancel context.CancelCauseFunc
	ignore func() bool       // stops looking for the end of ctx
	events *eventqueue.Queue // nil where nobody watches; safe without the token

	// Only the goroutine that holds the token uses these until done is closed.
	committer committer
	pending   pendingEffects
	watchdog  watchdog
	instead   []insteadOf     // facts for calls that have not returned yet
	mode      permission.Mode // that the executor was told of
	next      []event.Fact    // begin the run proper, once an earlier one is closed
	stopped   bool            // the end of ctx is on record
	ending    bool            // pending effects are waited for, nothing else

	completed completedEffects // has a lock of its own
}

// An insteadOf is a fact that takes the place of the result of a call.
type insteadOf struct {
	call string
	fact event.Fact
}

// A Host is what a run belongs to. The goroutine that holds the token calls it.
type Host interface {
	// OwnEffect returns an effect of the host's that has to be carried out before those
	// that the engine wants, nil for none. waits: one is pending, and is waited for.
	OwnEffect(wanted []engine.Effect) (own OwnEffect, waits bool)
	// Applied is called for each fact once it counts. It may not be on record yet.
	Applied(event.Fact)
	// Recorded is called once facts are on record and were shown. It must not keep the list.
	Recorded([]event.Event)
	// Closed is called at the end, before the reader of the events sees it.
	Closed()
}

// A Config is what a run is made of.
type Config struct {
	Host         Host
	Executor     *executor.Executor
	Conversation *conversation.Conversation
	Log          Log
	Events       *eventqueue.Queue // nil: nobody watches
	Errors       Errors
}

// Errors are what errors of a run wrap.
type Errors struct {
	Internal error // the run itself has failed
	Stuck    error // an effect did not end after its cancellation
}

// Init makes a run, which ends with ctx. The caller holds its token, until Begin.
func (r *Run) Init(ctx context.Context, c Config) {
	r.host, r.x, r.conv, r.errs, r.events = c.Host, c.Executor, c.Conversation, c.Errors, c.Events
	r.committer.log, r.committer.session = c.Log, c.Executor.Session
	r.token, r.done = make(chan struct{}, 1), make(chan struct{})
	r.ctx, r.cancel = context.WithCancelCause(ctx)
}

// Begin runs the run, in this goroutine at first. ctx is that of the run, perhaps with more
// values. Facts that close an earlier run are recorded before the first ones, which wait for
// its end. then is called once the first are on record; it may be nil.
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

// Cancel ends the context of the run, which stops it.
func (r *Run) Cancel(cause error) { r.cancel(cause) }

// Done returns a channel that is closed after everything else.
func (r *Run) Done() <-chan struct{} { return r.done }

// Events returns the queue of what is shown, nil where nobody watches. You need no token.
func (r *Run) Events() *eventqueue.Queue { return r.events }

// With does something for the run, which is on record then. ok is false when the run is
// over, or waits for its last effects; then do was not called.
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
	go r.drive() // what follows is not waited for
	return ok, err
}

// takeToken waits for the ownership token. It reports false when the run is over.
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

// drive goes on with the run for as long as this goroutine has something to do for
// it. The caller holds the token.
func (r *Run) drive() {
	for f := r.advance(); f != nil && r.execute(f); f = r.advance() {
	}
}

// advance does all that can be done now, and gives the token back. It returns a
// pending effect that the caller has to carry out, nil if there is none.
func (r *Run) advance() (mine *pendingEffect) {
	r.guard(func() error {
		r.collect()
		for !r.ending && mine == nil {
			switch {
			case r.committer.failed != nil:
				r.wrapUp()
			case r.conv.State.Running():
				if resting := r.step(&mine); resting {
					return nil
				}
			case r.next != nil:
				first := r.next
				r.next, r.stopped = nil, false // that was about the earlier run
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

// step does one thing for an open run. It reports whether there is nothing to do
// but to wait.
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
	if !r.stopped && r.ctx.Err() != nil { // nothing is started for a caller that is gone
		r.stop()
		return false
	}
	if f := r.overdue(effects); f != nil { // before the model is paid for an answer that comes too late
		r.Commit(f)
		return false
	}
	recorded := false
	*mine, recorded = r.startEffects(effects)
	return !recorded
}

// guard keeps a panic of the run itself from losing the run.
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
		if err = r.committer.failed; v == nil { // this goroutine ends, and another has to use its token
			go r.drive()
		}
	}()
	err = fn()
	returned = true
	return err
}

// collapse records that the run itself has failed, as far as that is possible.
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

// stop records the end of the caller's context.
func (r *Run) stop() {
	r.stopped = true
	if r.conv.State.Stopping() {
		return
	}
	r.Commit(event.Stopped{Reason: event.Interrupted, Message: context.Cause(r.ctx).Error(), Cleared: r.conv.State.Queued()})
}

// wrapUp ends the run: what is still pending is cancelled and waited for.
func (r *Run) wrapUp() {
	r.ending = true
	r.cancel(context.Canceled)
	r.pending = slices.DeleteFunc(r.pending, func(f *pendingEffect) (over bool) {
		f.ctx.muted.Store(true)
		return f.cancel()
	})
}

// close lets the reader of the events see the end. It never gives the token back.
func (r *Run) close() {
	r.ignore()
	r.watchdog.stop()
	r.host.Closed()
	if r.events != nil {
		r.events.Close()
	}
	close(r.done)
}
