package driver

import (
	"fmt"
	"slices"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/toolrun"
)

// A watchdog is the timer for pending effects that must be given up. Only the goroutine
// that holds the run's token uses it.
type watchdog struct {
	timer *time.Timer // nil until it is first needed
	at    time.Time   // when it fires; zero: not set
	stuck error       // error of the last effect that did not end after its cancellation
}

// covers reports whether the timer fires early enough.
func (w *watchdog) covers(next time.Time) bool { return !w.at.IsZero() && !next.Before(w.at) }

func (w *watchdog) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// armWatchdog sets the timer for the next pending effect that must be given up.
func (r *Run) armWatchdog() {
	next := r.pending.firstGiveUp()
	switch {
	case next.IsZero() || r.watchdog.covers(next):
		return
	case r.watchdog.timer == nil:
		r.watchdog.timer = time.AfterFunc(time.Until(next), func() {
			if r.takeToken() {
				r.watchdog.at = time.Time{}
				r.guard(r.giveUp)
				r.drive()
			}
		})
	default:
		r.watchdog.timer.Reset(time.Until(next))
	}
	r.watchdog.at = next
}

// giveUp gives up the pending effects that did not end in time after their cancellation or
// timeout. Their goroutines run until they return.
func (r *Run) giveUp() error {
	var facts []event.Fact
	for _, f := range slices.Clone(r.pending) {
		if f.giveUp.IsZero() || time.Until(f.giveUp) > 0 {
			continue
		}
		r.pending.drop(f)
		f.ctx.muted.Store(true)
		f.ctx.Cancel()
		if own, is := f.input.Effect.(OwnEffect); is {
			own.GaveUp()
		}
		var fact event.Fact
		if f.cancelled {
			r.watchdog.stuck = fmt.Errorf("%w: %s", r.errs.Stuck, f.input.Name())
			fact = f.broken(toolrun.Stuck, "it did not end after its cancellation")
		} else {
			fact = f.broken(toolrun.Stuck, fmt.Sprintf("it timed out after %v and did not stop", f.limit))
		}
		f.ctx.span.End(fact)
		if r.detached != nil {
			f.fact = fact
			fact = r.detached.outcome(f)
		}
		r.x.Complain("an effect did not end in time", "effect", f.key(), "name", f.input.Name())
		if fact != nil && f.wanted && !r.ending {
			facts = append(facts, fact)
		}
	}
	if len(facts) == 0 {
		return nil
	}
	return r.Commit(facts...)
}
