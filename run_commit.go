package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/lazyctx"
)

// commitHost records facts of the host. What they say also holds for the prompt that waits
// for the end of an earlier run.
func (l *activeRun) commitHost(facts ...event.Fact) error {
	err := l.commit(facts...)
	if err == nil && l.next != nil {
		l.next = append(l.next, facts...)
	}
	return err
}

// apply applies facts, which are on record with the next that are recorded: before
// anything is done about them, and before anybody is shown them.
func (l *activeRun) apply(facts ...event.Fact) {
	if l.failed != nil {
		return
	}
	if len(l.unsaved) == 0 {
		l.at = time.Now()
	}
	at := l.at.UTC()
	for _, f := range facts {
		l.noticesPolled = false
		l.sync = l.sync || l.needsSync(f)
		e := event.Event{Seq: l.state.last + 1, Prev: l.state.last, Time: at, Session: l.s.ID, Data: f}
		l.unsaved = append(l.unsaved, e)
		l.state.apply(e)
		if w := l.state.cache; w != nil {
			if b := w.Apply(e, l.state.state, &l.state.transcript); b != nil {
				l.uncached = b
			}
		}
		if m := l.state.state.Mode(); m != l.mode {
			l.mode = m
			l.x.Mode.Store(new(m)) // &m would cost an allocation each time
		}
		if b := l.state.state.Bound(); b != l.restriction {
			l.restriction = b
			l.takeRules()
		}
		if l.stopsAgents(f) {
			l.s.interruptAgents()
		}
		switch f := f.(type) {
		case event.ToolStart:
			l.touch(f.Call)
		case event.AssistantMessage:
			l.x.Adopt(f.Key, &l.state.transcript)
		case event.PermissionsChanged, event.Configured, event.Resumed:
			l.takeRules()
		}
	}
}

// commit appends facts to the log, those that were noted before them, and shows them.
func (l *activeRun) commit(facts ...event.Fact) error {
	l.apply(facts...)
	if l.failed != nil || len(l.unsaved) == 0 {
		return l.failed
	}
	events := l.unsaved
	if err := l.log.Append(l.appendContext(l.at.Add(executor.Grace)), events[0].Seq-1, l.sync, events...); err != nil {
		l.failed = fmt.Errorf("agent: recording in session %s: %w", l.s.ID, err)
		return l.failed
	}
	l.unsaved, l.sync, l.began = events[:0], false, true
	if l.x.agent.Log != nil {
		l.logged(events)
	}
	for _, e := range events {
		if l.events != nil {
			l.events.Put(e)
		}
		if end, ok := e.Data.(event.RunEnd); ok {
			l.ended(end)
		}
	}
	clear(events) // what they hold may be large, and must not live on for the list that is used again
	if n := l.state.torn; n > 0 && l.events != nil {
		l.state.torn = 0
		l.events.Put(event.Event{Session: l.s.ID, Data: event.JournalCut{Bytes: n}})
	}
	if b := l.uncached; b != nil && l.events != nil {
		l.uncached = nil
		l.events.Put(event.Event{Session: l.s.ID, Data: l.x.Secrets.Broken(*b)})
	}
	return nil
}

// appendContext returns the context of an append, which the end of the run does not cut
// short.
func (l *activeRun) appendContext(limit time.Time) context.Context {
	if l.appendCtx != nil {
		if l.appendCtx.Extend(limit) {
			return l.appendCtx
		}
		l.appendCtx.Cancel()
	}
	l.appendCtx = &lazyctx.Context{Parent: l.ctx, Detached: true, Until: limit}
	return l.appendCtx
}

// needsSync reports whether a fact has to be on disk before the run goes on.
func (l *activeRun) needsSync(f event.Fact) bool {
	switch event.SyncOf(f) {
	case event.SyncNow:
		return true
	case event.SyncEffect:
		start, ok := f.(event.ToolStart)
		return !ok || !l.state.state.Call(start.Call).Traits.ReadOnly
	}
	return false
}

func (l *activeRun) ended(end event.RunEnd) {
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
