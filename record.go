package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/leash"
)

// say records facts of the host. What they say also holds for the prompt that waits
// for the end of an earlier run.
func (l *loop) say(facts ...event.Fact) error {
	err := l.record(facts...)
	if err == nil && l.next != nil {
		l.next = append(l.next, facts...)
	}
	return err
}

// note applies facts, which are on record with the next that are recorded: before
// anything is done about them, and before anybody is shown them.
func (l *loop) note(facts ...event.Fact) {
	if l.failed != nil {
		return
	}
	if len(l.unsaved) == 0 {
		l.at = time.Now()
	}
	at := l.at.UTC()
	for _, f := range facts {
		l.heard = false
		l.sync = l.sync || l.durable(f)
		e := event.Event{Seq: l.fold.last + 1, Prev: l.fold.last, Time: at, Session: l.s.ID, Data: f}
		l.unsaved = append(l.unsaved, e)
		l.fold.apply(e)
		if w := l.fold.cache; w != nil {
			if b := w.Apply(e, l.fold.state, &l.fold.transcript); b != nil {
				l.uncached = b
			}
		}
		if m := l.fold.state.Mode(); m != l.mode {
			l.mode = m
			l.x.mode.Store(new(m)) // &m would cost an allocation each time
		}
		if b := l.fold.state.Bound(); b != l.bound {
			l.bound = b
			l.takeRules()
		}
		if l.halts(f) {
			l.s.halt()
		}
		switch f := f.(type) {
		case event.ToolStart:
			l.touch(f.Call)
		case event.AssistantMessage:
			l.x.adopt(f.Key, &l.fold.transcript)
		case event.PermissionsChanged, event.Configured, event.Resumed:
			l.takeRules()
		}
	}
}

// record appends facts to the log, those that were noted before them, and shows them.
func (l *loop) record(facts ...event.Fact) error {
	l.note(facts...)
	if l.failed != nil || len(l.unsaved) == 0 {
		return l.failed
	}
	events := l.unsaved
	if err := l.log.Append(l.writing(l.at.Add(grace)), events[0].Seq-1, l.sync, events...); err != nil {
		l.failed = fmt.Errorf("agent: recording in session %s: %w", l.s.ID, err)
		return l.failed
	}
	l.unsaved, l.sync, l.began = events[:0], false, true
	if l.x.agent.Log != nil {
		l.logged(events)
	}
	for _, e := range events {
		if l.feed != nil {
			l.feed.put(e)
		}
		if end, ok := e.Data.(event.RunEnd); ok {
			l.ended(end)
		}
	}
	clear(events) // what they hold may be large, and must not live on for the list that is used again
	if n := l.fold.torn; n > 0 && l.feed != nil {
		l.fold.torn = 0
		l.feed.put(event.Event{Session: l.s.ID, Data: event.JournalCut{Bytes: n}})
	}
	if b := l.uncached; b != nil && l.feed != nil {
		l.uncached = nil
		l.feed.put(event.Event{Session: l.s.ID, Data: l.x.secrets.broken(*b)})
	}
	return nil
}

// writing returns the context of an append, which the end of the run does not cut
// short.
func (l *loop) writing(limit time.Time) context.Context {
	if l.saving != nil {
		if l.saving.Extend(limit) {
			return l.saving
		}
		l.saving.Cut()
	}
	l.saving = &leash.Leash{Parent: l.ctx, Loose: true, Limit: limit}
	return l.saving
}

// durable reports whether a fact has to be on the disk before it is acted upon.
func (l *loop) durable(f event.Fact) bool {
	switch f := f.(type) {
	case event.UserMessage, event.Stopped, event.Hooked, event.PermissionsChanged, event.ModeChanged, event.ModelChanged, event.FallbacksChanged, event.BudgetChanged, event.CallbackChanged, event.ToolChanged, event.ToolsChanged, event.Answered, event.ToolAmended, event.OutputChecked, event.Resumed, event.SessionNamed, event.CompactionRequested, event.Compacted, event.RunEnd, event.AgentSuspended:
		return true
	case event.ToolStart:
		return !l.fold.state.ReadOnly(f.Call)
	}
	return false
}

func (l *loop) ended(end event.RunEnd) {
	var cause error
	if end.Reason == event.Interrupted || end.Reason == event.TimedOut {
		cause = context.Cause(l.ctx)
	}
	l.err = endError(end, cause)
	if l.span != nil {
		l.span.fact = end
	}
	l.result = newResult(l.s.ID, end)
	l.s.mu.Lock()
	l.s.last = l.result
	l.s.mu.Unlock()
}
