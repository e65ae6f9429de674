package driver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
)

// A Log records facts.
type Log interface {
	// Append records events after the fact with sequence number last. sync: they must be on
	// disk before Append returns.
	Append(ctx context.Context, last int64, sync bool, events ...event.Event) error
}

// A committer records the facts of a run in its log. Only the goroutine that holds the
// run's token uses it.
type committer struct {
	log      Log
	session  string
	unsaved  []event.Event      // applied facts that are not on record yet; reused
	at       time.Time          // time of the first of them, with the monotonic clock
	sync     bool               // one of them must be on disk
	began    bool               // a fact of the run is on record
	failed   error              // error of the log, after which nothing can be recorded
	uncached *event.CacheBroken // to show after the next append

	ctx   context.Context // of appends, nil before the first; one context serves them all
	timer *time.Timer     // ends ctx when an append takes too long
	free  func()          // ends ctx
}

// now returns the time of the next fact. Facts of one append share a time.
func (c *committer) now() time.Time {
	if len(c.unsaved) == 0 {
		c.at = time.Now()
	}
	return c.at.UTC()
}

// add adds an applied fact to the next append.
func (c *committer) add(e event.Event, sync bool) {
	c.unsaved = append(c.unsaved, e)
	c.sync = c.sync || sync
}

// append appends the unsaved facts to the log. There must be at least one. It returns them;
// the list is valid until the next add. The end of the run does not cancel it.
func (c *committer) append(run context.Context) ([]event.Event, error) {
	events := c.unsaved
	c.startTimer(run)
	err := c.log.Append(c.ctx, events[0].Seq-1, c.sync, events...)
	if late := !c.timer.Stop(); late && errors.Is(err, context.Canceled) {
		err = fmt.Errorf("the store did not answer within %v: %w", executor.Grace, context.DeadlineExceeded)
	} else if late {
		c.ctx = nil
	}
	if err != nil {
		c.failed = fmt.Errorf("agent: recording in session %s: %w", c.session, err)
		return nil, c.failed
	}
	c.unsaved, c.sync, c.began = events[:0], false, true
	return events, nil
}

// startTimer makes ctx end when the oldest unsaved fact has waited too long. A new
// context for each append would cost a tenth of a turn.
func (c *committer) startTimer(run context.Context) {
	left := time.Until(c.at.Add(executor.Grace))
	if c.ctx != nil {
		c.timer.Reset(left)
		return
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(run))
	c.free = func() { cancel(context.Canceled) }
	c.ctx, c.timer = ctx, time.AfterFunc(left, func() { cancel(context.DeadlineExceeded) })
}

// release ends the context of appends.
func (c *committer) release() {
	if c.free != nil {
		c.free()
	}
}

// Began reports whether a fact of the run is on record.
func (r *Run) Began() bool { return r.committer.began }

// Failed returns the error of the log after which nothing can be recorded, nil if there is
// none.
func (r *Run) Failed() error { return r.committer.failed }

// Unsaved returns the applied facts that could not be recorded.
func (r *Run) Unsaved() []event.Event { return r.committer.unsaved }

// Stuck returns the error of the last effect that did not end after its cancellation.
func (r *Run) Stuck() error { return r.watchdog.stuck }

// ClosesEarlier reports whether facts still belong to the run before this one.
func (r *Run) ClosesEarlier() bool { return r.next != nil }

// CommitHost records facts of the host. If the prompt still waits for the end of an earlier
// run, the run records them again with its own first facts.
func (r *Run) CommitHost(facts ...event.Fact) error {
	err := r.Commit(facts...)
	if err == nil && r.next != nil {
		r.next = append(r.next, facts...)
	}
	return err
}

// apply applies facts. The next append records them, before the run acts on them and before
// anyone sees them.
func (r *Run) apply(facts ...event.Fact) {
	if r.committer.failed != nil {
		return
	}
	at := r.committer.now()
	for _, f := range facts {
		sync := r.needsSync(f)
		e := event.Event{Seq: r.conv.Last + 1, Prev: r.conv.Last, Time: at, Session: r.x.Session, Data: f}
		r.committer.add(e, sync)
		r.conv.Apply(e)
		if w := r.conv.Cache; w != nil {
			if b := w.Apply(e, r.conv.State, &r.conv.Transcript); b != nil {
				r.committer.uncached = b
			}
		}
		if m := r.conv.State.Mode(); m != r.mode {
			r.mode = m
			r.x.Mode.Store(new(m)) // &m would cost an allocation each time
		}
		r.host.Applied(f)
		r.adopt(f)
	}
}

// adopt assigns the drafts of an answer to its calls.
//
//go:noinline // the copy of the answer makes the stack of a run deeper (BenchmarkAgentsMemory)
func (r *Run) adopt(f event.Fact) {
	if said, ok := f.(event.AssistantMessage); ok {
		r.x.Drafts.Adopt(said.Key, &r.conv.Transcript)
	}
}

// Commit applies facts, appends all unsaved facts to the log, and shows them.
func (r *Run) Commit(facts ...event.Fact) error {
	r.apply(facts...)
	if r.committer.failed != nil || len(r.committer.unsaved) == 0 {
		return r.committer.failed
	}
	events, err := r.committer.append(r.ctx)
	if err != nil {
		return err
	}
	r.showFacts(events)
	r.host.Recorded(events)
	clear(events) // the reused list must not keep large facts alive
	r.showUncached()
	return nil
}

// showFacts sends recorded facts to the reader of the events.
func (r *Run) showFacts(events []event.Event) {
	if r.events == nil && !r.host.Observed() {
		return
	}
	for i := range events {
		events[i].Call = r.conv.Shown(events[i].Data)
	}
	if r.events != nil {
		for i := range events {
			r.events.Put(events[i])
		}
	}
}

// showUncached shows that the prompt cache was missed, if an applied fact says so.
func (r *Run) showUncached() {
	if b := r.committer.uncached; b != nil {
		r.committer.uncached = nil
		r.Show(r.x.Secrets.Broken(*b))
	}
}

// Show sends a signal to the reader of the events, and to the observers of the host. It
// needs no token.
//
//go:noinline // called from many places: every program stays smaller
func (r *Run) Show(sig event.Signal) { r.show(event.Event{Session: r.x.Session, Data: sig}) }

func (r *Run) show(e event.Event) {
	if r.events != nil {
		r.events.Put(e)
	}
	if r.host.Observed() {
		r.host.Observe(e, "")
	}
}

// needsSync reports whether a fact must be on disk before the run continues.
func (r *Run) needsSync(f event.Fact) bool {
	switch fact.SyncOf(f) {
	case fact.SyncNow:
		return true
	case fact.SyncEffect:
		start, ok := f.(event.ToolStart)
		return !ok || !r.conv.State.Call(start.Call).Traits.ReadOnly
	}
	return false
}
