package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/lazyctx"
	"github.com/openagent-go/agent/session"
)

// A committer records the facts of a run in its log. Only the goroutine that holds the
// run's token uses it.
type committer struct {
	log      session.Log
	unsaved  []event.Event      // are applied, and not on record yet; reused
	at       time.Time          // when the first of them was, with the monotonic clock
	sync     bool               // one of them has to be on the disk
	began    bool               // something is on record
	failed   error              // of the log: nothing can be recorded any more
	ctx      *lazyctx.Context   // the context of appends; nil before the first
	uncached *event.CacheBroken // to be shown after the next append
}

// now is the time of the next fact. Facts that one append records have the same time.
func (c *committer) now() time.Time {
	if len(c.unsaved) == 0 {
		c.at = time.Now()
	}
	return c.at.UTC()
}

// add takes a fact that is applied, for the next append.
func (c *committer) add(e event.Event, sync bool) {
	c.unsaved = append(c.unsaved, e)
	c.sync = c.sync || sync
}

// append appends the unsaved facts to the log, of which there is at least one. It
// returns them until the next fact is added.
func (c *committer) append(run context.Context) ([]event.Event, error) {
	events := c.unsaved
	if err := c.log.Append(c.context(run, c.at.Add(executor.Grace)), events[0].Seq-1, c.sync, events...); err != nil {
		c.failed = fmt.Errorf("agent: recording in session %s: %w", events[0].Session, err)
		return nil, c.failed
	}
	c.unsaved, c.sync, c.began = events[:0], false, true
	return events, nil
}

// context returns the context of an append, which the end of the run does not cut short.
func (c *committer) context(run context.Context, limit time.Time) context.Context {
	if c.ctx != nil {
		if c.ctx.Extend(limit) {
			return c.ctx
		}
		c.ctx.Cancel()
	}
	c.ctx = &lazyctx.Context{Parent: run, Detached: true, Until: limit}
	return c.ctx
}

// release ends the context of appends.
func (c *committer) release() {
	if c.ctx != nil {
		c.ctx.Cancel()
	}
}

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
	if l.committer.failed != nil {
		return
	}
	at := l.committer.now()
	for _, f := range facts {
		l.poll.done = false
		sync := l.needsSync(f)
		e := event.Event{Seq: l.conv.Last + 1, Prev: l.conv.Last, Time: at, Session: l.s.ID, Data: f}
		l.committer.add(e, sync)
		l.conv.Apply(e)
		if w := l.conv.Cache; w != nil {
			if b := w.Apply(e, l.conv.State, &l.conv.Transcript); b != nil {
				l.committer.uncached = b
			}
		}
		if m := l.conv.State.Mode(); m != l.told.mode {
			l.told.mode = m
			l.x.Mode.Store(new(m)) // &m would cost an allocation each time
		}
		if b := l.conv.State.Bound(); b != l.told.restriction {
			l.told.restriction = b
			l.takeRules()
		}
		if l.stopsAgents(f) {
			l.s.interruptAgents()
		}
		switch f := f.(type) {
		case event.ToolStart:
			l.touch(f.Call)
		case event.AssistantMessage:
			l.x.Drafts.Adopt(f.Key, &l.conv.Transcript)
		case event.PermissionsChanged, event.Configured, event.Resumed:
			l.takeRules()
		}
	}
}

// commit appends facts to the log, those that were noted before them, and shows them.
func (l *activeRun) commit(facts ...event.Fact) error {
	l.apply(facts...)
	if l.committer.failed != nil || len(l.committer.unsaved) == 0 {
		return l.committer.failed
	}
	events, err := l.committer.append(l.ctx)
	if err != nil {
		return err
	}
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
	if n := l.fold.torn; n > 0 && l.events != nil {
		l.fold.torn = 0
		l.events.Put(event.Event{Session: l.s.ID, Data: event.JournalCut{Bytes: n}})
	}
	if b := l.committer.uncached; b != nil && l.events != nil {
		l.committer.uncached = nil
		l.events.Put(event.Event{Session: l.s.ID, Data: l.x.Secrets.Broken(*b)})
	}
	return nil
}

// needsSync reports whether a fact has to be on disk before the run goes on.
func (l *activeRun) needsSync(f event.Fact) bool {
	switch event.SyncOf(f) {
	case event.SyncNow:
		return true
	case event.SyncEffect:
		start, ok := f.(event.ToolStart)
		return !ok || !l.conv.State.Call(start.Call).Traits.ReadOnly
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

// takeRules lets the executor know of the rules that hooks have added, and of what
// skills let run.
func (l *activeRun) takeRules() {
	more := l.conv.State.Rules()
	if len(more.Allow)+len(more.Ask)+len(more.Deny) == 0 && l.told.restriction == nil && !l.told.rulesChanged {
		return
	}
	l.told.rulesChanged = true
	p := l.x.agent.Permissions
	p.Allow, p.Ask, p.Deny = slices.Concat(p.Allow, more.Allow), slices.Concat(p.Ask, more.Ask), slices.Concat(p.Deny, more.Deny)
	p.Bound = l.told.restriction
	l.x.Rules.Store(p.Compile())
	l.x.Unreadable.Store(p.DeniedReadPatterns(l.x.agent.Deciders, l.x.Roots...))
}
