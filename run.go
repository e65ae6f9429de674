package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/internal/eventqueue"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/permission"
)

// An activeRun is one run: it asks the engine for effects, has them done, and records
// what came of them. It works while something has happened and rests while
// effects are carried out. Only the goroutine that holds the ownership token
// touches the session's state, the log and the pending effects. The goroutine of an
// effect that has ended takes the token and goes on with the run. So a run that does
// one thing after the other needs one goroutine.
type activeRun struct {
	s     *Session
	x     *runSetup
	fold  *sessionState
	conv  *conversation.Conversation // of fold
	token chan struct{}              // has room for one: it lies here while nobody works on the run

	ctx    context.Context // of the whole run; its end stops the run
	cancel context.CancelCauseFunc
	ignore func() bool       // stops looking for the end of ctx
	events *eventqueue.Queue // nil where nobody watches; safe without the token
	span   *watchedRun       // nil where nobody traces

	// Only the goroutine that holds the token uses these until done is closed.
	committer       committer
	pending         pendingEffects
	watchdog        watchdog
	suspendedAgents []event.AgentSuspended // agents of calls that have not returned yet
	poll            noticePoll
	told            toldExecutor
	next            []event.Fact // begin the run proper, once an earlier one is closed
	stopped         bool         // the end of ctx is on record
	ending          bool         // pending effects are waited for, nothing else

	completed completedEffects // has a lock of its own
	runOutcome
}

// A runOutcome is what came of a run. The goroutine that holds the token writes it. All
// others read it once done is closed.
type runOutcome struct {
	done   chan struct{} // closed after everything else
	result *Result       // for the consumer
	err    error         // likewise
}

// toldExecutor is what the executor of a run knows of mode and rules.
type toldExecutor struct {
	mode         permission.Mode
	restriction  *permission.Restriction // what skills let run
	rulesChanged bool                    // hooks have changed the rules, or a skill has
}

// begin is the first goroutine of a run. It holds the ownership token.
func (l *activeRun) begin(prompt bool, first []event.Fact) {
	l.observe(!prompt)
	l.ignore = context.AfterFunc(l.ctx, func() {
		if l.takeToken() {
			l.drive()
		}
	})
	l.guard(func() error {
		if prompt && (l.conv.State.Running() || l.conv.State.Pending()) {
			l.next = first
			first = []event.Fact{event.Resumed{Hooks: l.x.Hooks.Events()}, event.Stopped{Reason: event.Interrupted, Message: "cut short, then prompted anew"}}
		}
		var waiting []event.AgentStart
		if !prompt {
			waiting = l.conv.State.Agents().Waiting()
		}
		err := l.commit(first...)
		for _, at := range waiting {
			l.restartAgent(at)
		}
		return err
	})
	l.drive()
}

// takeToken waits for the ownership token. It reports false when the run is over.
func (l *activeRun) takeToken() bool {
	select {
	case <-l.token:
		return true
	default:
	}
	select {
	case <-l.token:
		return true
	case <-l.done:
		return false
	}
}

// drive goes on with the run for as long as this goroutine has something to do for
// it. The caller holds the token.
func (l *activeRun) drive() {
	for f := l.advance(); f != nil && l.execute(f); f = l.advance() {
	}
}

// advance does all that can be done now, and gives the token back. It returns a
// pending effect that the caller has to carry out, nil if there is none.
func (l *activeRun) advance() (mine *pendingEffect) {
	l.guard(func() error {
		l.collect()
		for !l.ending && mine == nil {
			switch {
			case l.committer.failed != nil:
				l.wrapUp()
			case l.conv.State.Running():
				if resting := l.step(&mine); resting {
					return nil
				}
			case l.next != nil:
				first := l.next
				l.next, l.stopped = nil, false // that was about the earlier run
				l.commit(first...)
			default:
				l.commit()
				l.wrapUp()
			}
		}
		return nil
	})
	if l.ending && len(l.pending) == 0 {
		l.close()
		return nil
	}
	l.armWatchdog()
	l.token <- struct{}{}
	return mine
}

// step does one thing for an open run. It reports whether there is nothing to do
// but to wait.
func (l *activeRun) step(mine **pendingEffect) (resting bool) {
	effects := l.conv.State.Effects()
	for _, ask := range []func([]engine.Effect) (*pendingEffect, bool){l.pollNotices, l.pollToolsets} {
		if asked, waiting := ask(effects); asked != nil || waiting {
			*mine = asked
			return l.commit() == nil
		}
	}
	if r, ok := effects[0].(engine.Record); ok {
		l.commit(r.Facts...)
		return false
	}
	l.cancelUnwanted(effects)
	if !l.stopped && l.ctx.Err() != nil { // nothing is started for a caller that is gone
		l.stop()
		return false
	}
	if f := l.overdue(effects); f != nil { // before the model is paid for an answer that comes too late
		l.commit(f)
		return false
	}
	recorded := false
	*mine, recorded = l.startEffects(effects)
	return !recorded
}

// guard keeps a panic of the loop itself from losing the run.
func (l *activeRun) guard(fn func() error) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		why := "runtime.Goexit"
		if v != nil {
			why = l.x.Secrets.Text(fmt.Sprintf("panic: %v", v))
		}
		l.x.Complain("the loop failed", "error", why, "stack", string(debug.Stack()))
		l.collapse(why)
		if err = l.committer.failed; v == nil { // this goroutine ends, and another has to use its token
			go l.drive()
		}
	}()
	err = fn()
	returned = true
	return err
}

// collapse records that the loop itself has failed, as far as that is possible.
func (l *activeRun) collapse(why string) {
	failed := fmt.Errorf("agent: %w: %s", ErrInternal, why)
	safecall.Or(func() error {
		if end, open := l.conv.State.SoFar(); open {
			end.Message = why
			return l.commit(end)
		}
		return nil
	}, nil)
	l.committer.failed = failed
	l.wrapUp()
}

// stop records the end of the caller's context.
func (l *activeRun) stop() {
	l.stopped = true
	if l.conv.State.Stopping() {
		return
	}
	l.commit(event.Stopped{Reason: event.Interrupted, Message: context.Cause(l.ctx).Error(), Cleared: l.conv.State.Queued()})
}

// wrapUp ends the run: what is still in the air is cancelled and waited for.
func (l *activeRun) wrapUp() {
	l.ending = true
	l.cancel(context.Canceled)
	l.pending = slices.DeleteFunc(l.pending, func(f *pendingEffect) (over bool) {
		f.ctx.muted.Store(true)
		return f.cancel()
	})
}

// close lets the consumer see the end. It never gives the token back.
func (l *activeRun) close() {
	l.ignore()
	l.watchdog.stop()
	l.committer.release()
	if l.committer.failed != nil {
		l.err = l.committer.failed
	}
	if l.watchdog.stuck != nil {
		l.err = errors.Join(l.err, l.watchdog.stuck)
	}
	if l.span != nil {
		l.span.finish()
	}
	l.s.mu.Lock()
	l.s.running = false
	if l.committer.failed != nil {
		l.reportLost()
	}
	l.s.mu.Unlock()
	if l.events != nil {
		l.events.Close()
	}
	close(l.done)
}

// reportLost takes the session out of use after its log has failed. The next prompt
// opens and replays it again.
func (l *activeRun) reportLost() {
	end, ok := l.conv.State.SoFar()
	for _, e := range l.committer.unsaved { // the end itself could not be recorded
		if f, is := e.Data.(event.RunEnd); is {
			end, ok = f, true
			end.Reason = event.Internal
		}
	}
	if ok {
		l.result = newResult(l.s.ID, end)
		l.s.last = l.result
	}
	if l.s.fold != nil {
		l.x.Complain("session log failed", "error", errors.Join(l.committer.failed, l.s.fold.log.Close()))
		l.s.fold = nil
	}
}
