package agent

import (
	"context"
	"time"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/safecall"
)

// A noticePoll says whether tools are to be asked for notices. Only the goroutine
// that holds the run's token uses it.
type noticePoll struct {
	done    bool     // they were asked, and nothing was recorded since
	touched []string // files, since the context was asked for
}

// notices is what the model is told without having asked.
type notices struct {
	texts []string // the notices of tools
	place Place    // where the run is
	notes []Note   // about it
}

// pollNotices has the notices of tools asked for before the model is called and before
// the run ends. It returns the pending effect that does, or that one
// is under way.
func (l *activeRun) pollNotices(effects []engine.Effect) (asked *pendingEffect, waiting bool) {
	if l.poll.done || !l.x.notifies() && len(l.poll.touched) == 0 {
		return nil, false
	}
	due := false
	for _, e := range effects {
		switch e := e.(type) {
		case engine.CallModel:
			due = l.pending.get(e.Key()) == nil
		case engine.Record:
			end, ok := e.Facts[0].(event.RunEnd)
			due = ok && end.Reason == event.Completed
		}
	}
	switch {
	case !due || l.ctx.Err() != nil:
		return nil, false
	case l.pending.get(askNotices{}.Key()) != nil:
		return nil, true
	}
	f := l.pendingFor(askNotices{})
	f.giveUp = time.Now().Add(executor.Grace)
	f.notices = &notices{place: Place{Dir: l.conv.State.Dir(), Touched: l.poll.touched}}
	f.notices.place.hide(l.x.Unreadable.Load())
	l.poll.touched = nil
	l.pending = append(l.pending, f)
	return f, false
}

// pollInbox has the inbox looked into. What it holds is on record when the inbox gives it
// away.
func (l *activeRun) pollInbox(ctx context.Context) {
	inbox := l.x.agent.Inbox
	if inbox == nil {
		return
	}
	_, err := safecall.Within(ctx, func() (struct{}, error) {
		return struct{}{}, inbox(ctx, l.s.ID, func(mail []Input) error {
			return l.s.withRun(ctx, func(l *activeRun) error { return l.recordInbox(mail) })
		})
	})
	if err != nil && ctx.Err() == nil {
		l.x.Log.Warn("looking into the inbox", "error", err)
	}
}

// recordInbox records messages that are not known yet.
func (l *activeRun) recordInbox(mail []Input) error {
	var facts []event.Fact
	for _, in := range mail {
		if in.ID == "" || !l.conv.State.Known(in.ID) {
			facts = append(facts, in.message(event.AsNotice))
		}
	}
	return l.commit(facts...)
}

// askNotices is an effect of the loop's own: tools are asked for their notices.
type askNotices struct{}

func (askNotices) Key() string        { return "notices" }
func (askNotices) Intent() event.Fact { return nil }
