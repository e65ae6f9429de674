package agent

import (
	"context"
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/watchers"
)

// This file is about what is under way when an observer joins: the text of an answer so far, the
// progress of calls and the open questions.

// underWay is what is under way in the run, behind a fact.
func (l *activeRun) underWay(ctx context.Context) (through int64, signals []event.Event) {
	_, _ = l.With(ctx, func() error {
		through, signals = l.conv.Last, l.Shown()
		return nil
	})
	return through, signals
}

// provide lets observers who join later see what is under way. The caller calls remove at the end
// of the run.
func (l *activeRun) provide() (remove func()) {
	to := l.audience()
	all := []func(){watchers.Provide(to.own, l.underWay)}
	for i := range to.above {
		all = append(all, watchers.Provide(to.above[i].key, func(ctx context.Context) (int64, []event.Event) {
			_, signals := l.underWay(ctx)
			for n := range signals {
				for _, a := range to.above[:i+1] {
					inner := signals[n]
					as := a.as
					as.Event = &inner
					signals[n] = event.Event{Session: a.id, Time: inner.Time, Data: as}
				}
			}
			return 0, signals
		}))
	}
	return func() {
		for _, remove := range all {
			remove()
		}
	}
}

// join shows what is under way, after the facts that it belongs behind.
func (w *observer) join(ctx context.Context) error {
	for _, s := range watchers.SourcesOf(sessionKey(w.store, w.session)) {
		through, signals := (*s)(ctx)
		for _, e := range signals {
			if key := answerOf(e); key != "" {
				if w.known == nil {
					w.known = map[string]bool{}
				}
				w.known[key] = true
			}
		}
		if through > w.last {
			w.through, w.then = through, signals
		} else if err := w.all(signals); err != nil {
			return err
		}
	}
	return nil
}

// joined shows what is under way behind the fact that has just come.
func (w *observer) joined() error {
	signals := w.then
	if len(signals) == 0 || w.last < w.through {
		return nil
	}
	w.then = nil
	return w.all(signals)
}

func (w *observer) all(signals []event.Event) error {
	for _, e := range signals {
		if err := w.emit(e); err != nil {
			return err
		}
	}
	return nil
}

// restarted returns a signal of the run. The first piece of an answer has all of its text so far. It
// replaces what was under way at the beginning.
func (w *observer) restarted(e event.Event) event.Event {
	key := answerOf(e)
	if !w.known[key] {
		return e
	}
	delete(w.known, key)
	w.then = slices.DeleteFunc(w.then, func(old event.Event) bool { return answerOf(old) == key })
	return asRestart(e)
}

// answerOf is the answer, by session and key, that a text delta belongs to; "": it is no text delta.
func answerOf(e event.Event) string {
	switch d := e.Data.(type) {
	case event.TextDelta:
		return e.Session + " " + d.Key
	case event.AgentEvent:
		if d.Event != nil {
			return answerOf(*d.Event)
		}
	}
	return ""
}

// asRestart returns a text delta as a restart.
func asRestart(e event.Event) event.Event {
	switch d := e.Data.(type) {
	case event.TextDelta:
		d.Restart = true
		e.Data = d
	case event.AgentEvent:
		inner := asRestart(*d.Event)
		d.Event = &inner
		e.Data = d
	}
	return e
}
