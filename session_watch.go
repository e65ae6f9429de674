package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/watchers"
	"github.com/openagent-go/agent/session"
)

// Watch yields the recorded facts of the session with a sequence number above after, and
// then each new event while it happens. It works during a run and between runs, also if
// another Session, another Agent or another process runs the session. Any number of
// observers may watch. None of them opens the session, slows a run or stops it: leave the
// loop when you like.
//
// Facts come in the order of the journal. None is missed and none comes twice. So you can
// leave, keep the last sequence number, and continue with it later.
//
// Signals come too if the run is in this process and its Agent has the same session store.
// If you join in the middle of a run, you first get what is under way: for each answer an
// [event.TextDelta] with all of its text so far (see its Restart), for each call its last
// [event.ToolProgress], and the open [event.PermissionRequest] and [event.UserQuestion]
// signals. A question may come twice; its call has the same ID. Facts and signals of a sub-agent come as [event.AgentEvent], as in
// [Session.Stream], in this process only. To get the facts of a sub-agent elsewhere, watch
// its own session, which is stored in session.Under(store, id).
//
// Facts for the agent alone come too. Before you send events to users, drop those of
// [event.Event.IsBookkeeping].
//
// If you are slow, you lose signals. Then an [event.Missed] says how many.
//
// Watch ends with an error: that of ctx when ctx ends, or one that matches
// [session.ErrNotFound] when the session is deleted, or never had the fact after. With after
// 0 it waits for a session that does not exist yet.
func (s *Session) Watch(ctx context.Context, after int64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		w := &observer{session: s.ID, store: s.store(), last: max(after, 0), yield: yield, behind: true}
		w.live = watchers.Join(sessionKey(w.store, s.ID), nil)
		defer w.live.Leave()
		watchers.Joined(ctx)
		defer w.stopWaiting()
		if err := w.watch(ctx); err != errLeft {
			yield(event.Event{}, fmt.Errorf("agent: watching session %s: %w", s.ID, err))
		}
	}
}

// errLeft means that the loop over the events was left.
var errLeft = errors.New("the observer has left")

// An observer is one range over the events of a session. Facts come from the store and from
// the run: the run's are used if they follow the last one, otherwise the store has them.
type observer struct {
	session string
	store   session.Store
	live    *watchers.Watcher
	yield   func(event.Event, error) bool

	last    int64     // number of the last fact that was yielded
	at      time.Time // its time; zero: not known
	settled string    // key of the last answer that was yielded
	behind  bool      // the store may have more facts

	// ended are calls that have ended, and answered ones that were asked about, in facts that the
	// store has shown: their signals may still come.
	ended map[string]bool

	begun   bool          // what was under way at the beginning is known
	through int64         // the fact that then belongs behind
	then    []event.Event // what is under way there, not yielded yet

	known map[string]bool // answers, by session and key, whose text was under way at the beginning

	waits   bool       // a goroutine waits for facts in the store
	waiting int64      // after this one
	stored  chan error // its result
	cancel  func()     // ends it
}

// watch yields events until there is an error, which may be errLeft.
func (w *observer) watch(ctx context.Context) error {
	for {
		if w.behind {
			if err := w.catchUp(ctx); err != nil {
				return err
			}
		}
		if !w.begun {
			w.begun = true
			if err := w.join(ctx); err != nil {
				return err
			}
		}
		events, missed := w.live.Take()
		if err := w.show(ctx, events); err != nil {
			return err
		}
		if missed != (event.Missed{}) {
			w.behind = true
		}
		if missed.Signals > 0 {
			missed.Facts = 0 // the store has them
			if err := w.emit(event.Event{Session: w.session, Time: now(), Data: missed}); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(events) == 0 && !w.behind {
			if err := w.wait(ctx); err != nil {
				return err
			}
		}
	}
}

func (w *observer) emit(e event.Event) error {
	if !w.yield(e, nil) {
		return errLeft
	}
	return nil
}

// fact yields the next fact.
func (w *observer) fact(e event.Event) error {
	w.last, w.at = e.Seq, e.Time
	switch d := e.Data.(type) {
	case event.AssistantMessage:
		w.settled = d.Key
	case event.ModelFailed:
		w.settled = d.Key
	}
	if err := w.emit(e); err != nil {
		return err
	}
	return w.joined()
}

// catchUp yields the facts that the store has after the last one. It reads the last one
// too: if that is another fact, or none, then the session was deleted.
func (w *observer) catchUp(ctx context.Context) error {
	w.behind = false
	known := w.last == 0
	runs := len(watchers.SourcesOf(sessionKey(w.store, w.session))) > 0 // in this process
	for e, err := range w.store.Read(ctx, w.session, max(w.last-1, 0)) {
		switch {
		case err != nil && w.last == 0 && errors.Is(err, session.ErrNotFound):
			return nil // it does not exist yet
		case err != nil:
			return err
		case !known && (e.Seq != w.last || !w.at.IsZero() && !w.at.Equal(e.Time)):
			return fmt.Errorf("fact %d was replaced: %w", w.last, session.ErrNotFound)
		case !known:
			known, w.at = true, e.Time
			continue
		}
		if err := w.fact(e); err != nil {
			return err
		}
		if runs {
			w.settle(e)
		}
	}
	if !known {
		return fmt.Errorf("fact %d: %w", w.last, session.ErrNotFound)
	}
	return nil
}

// settle notes that the signals of a call do not count any more.
func (w *observer) settle(e event.Event) {
	switch d := e.Data.(type) {
	case event.ToolResult:
		w.end(d.Call)
	case fact.Answered:
		w.end("asked " + d.Call)
	}
}

func (w *observer) end(what string) {
	if w.ended == nil {
		w.ended = map[string]bool{}
	}
	w.ended[what] = true
}

// counts reports whether a signal before a fact that the store has shown is not settled by the
// facts: the run shows a fact a moment after it is on record, and a tool may report in between.
func (w *observer) counts(e event.Event) bool {
	switch d := e.Data.(type) {
	case event.AgentEvent: // the store has nothing of the agent
		return true
	case event.ToolProgress:
		return !w.ended[d.Call]
	case event.PermissionRequest:
		return !w.ended[d.Call.ID] && !w.ended["asked "+d.Call.ID]
	case event.UserQuestion:
		return !w.ended[d.Call.ID]
	}
	return false
}

// pass yields what counts of events that come before a fact that the store has shown.
func (w *observer) pass(events []event.Event) error {
	for _, e := range events {
		if e.Seq == 0 && w.counts(e) {
			if err := w.emit(w.restarted(e)); err != nil {
				return err
			}
		}
	}
	return nil
}

// show yields events of the run. It passes over what the store has shown already.
func (w *observer) show(ctx context.Context, events []event.Event) error {
	next := w.afterKnown(events, 0)
	if err := w.pass(events[:next]); err != nil {
		return err
	}
	for i := next; i < len(events); i++ {
		e := events[i]
		switch {
		case e.Seq == 0 && w.late(e):
		case e.Seq == 0:
			if err := w.emit(w.restarted(e)); err != nil {
				return err
			}
		case e.Seq == w.last+1:
			clear(w.ended) // the run has shown all that the store had
			if err := w.fact(e); err != nil {
				return err
			}
		case e.Seq > w.last:
			if err := w.catchUp(ctx); err != nil {
				return err
			}
			if e.Seq > w.last {
				return fmt.Errorf("fact %d: %w", e.Seq, session.ErrNotFound)
			}
			next := w.afterKnown(events, i)
			if err := w.pass(events[i:next]); err != nil {
				return err
			}
			i = next - 1
		}
	}
	return nil
}

// afterKnown returns the place in events, at least i, after the last fact that was yielded
// already.
func (w *observer) afterKnown(events []event.Event, i int) int {
	next := i
	for ; i < len(events); i++ {
		switch e := events[i]; {
		case e.Seq == 0:
		case e.Seq > w.last:
			return next
		default:
			next = i + 1
			if e.Time.After(w.at) { // of another session with the same id?
				w.behind = true
			}
		}
	}
	return next
}

// late reports whether a signal is a piece of an answer that is on record.
func (w *observer) late(e event.Event) bool {
	switch d := e.Data.(type) {
	case event.TextDelta:
		return d.Key == w.settled
	case event.ThinkingDelta:
		return d.Key == w.settled
	case event.ToolInputDelta:
		return d.Key == w.settled
	}
	return false
}

// wait waits for events of a run in this process, or for facts in the store.
func (w *observer) wait(ctx context.Context) error {
	if w.waiting == 0 && w.last > 0 {
		w.stopWaiting() // it does not notice that the session is deleted
	}
	if !w.waits {
		w.startWaiting(ctx)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-w.live.Wake():
		return nil
	case err := <-w.stored:
		w.cancel()
		w.waits = false
		w.behind = w.waiting == w.last // else the run has shown the facts
		return err
	}
}

// startWaiting starts the goroutine that waits for facts in the store.
func (w *observer) startWaiting(ctx context.Context) {
	ctx, w.cancel = context.WithCancel(ctx)
	stored, after := make(chan error, 1), w.last
	w.waits, w.waiting, w.stored = true, after, stored
	go func() { stored <- session.Wait(ctx, w.store, w.session, after) }()
}

// stopWaiting ends that goroutine and waits for its end.
func (w *observer) stopWaiting() {
	if w.waits {
		w.cancel()
		<-w.stored
		w.waits = false
	}
}
