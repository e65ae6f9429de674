package agent

import (
	"context"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/driver"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/safecall"
)

// A noticePoll says whether the run has to ask tools for notices. Only the goroutine that
// holds the run's token uses it.
type noticePoll struct {
	done    bool     // they were asked, and no fact was applied since
	hung    bool     // they did not answer: this run asks them no more
	touched []string // files that calls touched since the last call of the Context
}

// pollNotices returns the effect that asks for notices, before a model call and before the
// run ends. waiting: the effect is already pending.
func (l *activeRun) pollNotices(effects []engine.Effect) (asked *askNotices, waiting bool) {
	if l.poll.done || l.poll.hung || !l.x.notifies() && len(l.poll.touched) == 0 {
		return nil, false
	}
	due := false
	for _, e := range effects {
		switch e := e.(type) {
		case engine.CallModel:
			due = !l.Pending(e.Key())
		case engine.Record:
			end, ok := e.Facts[0].(event.RunEnd)
			due = ok && end.Reason == event.Completed
		}
	}
	switch {
	case !due || l.Context().Err() != nil:
		return nil, false
	case l.Pending(noticesKey):
		return nil, true
	}
	asked = &askNotices{run: l, place: Place{Dir: l.conv.State.Dir(), Touched: l.poll.touched}}
	asked.place.hide(l.x.Unreadable.Load())
	l.poll.touched = nil
	return asked, false
}

// pollInbox calls the agent's Inbox. The messages are on record before the function's
// keep returns.
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

// recordInbox records the messages that are not on record yet. It ignores empty messages.
func (l *activeRun) recordInbox(mail []Input) error {
	var facts []event.Fact
	for _, in := range mail {
		if in.bounded() {
			return errMessageOptions
		}
		if err := in.check(); err != nil {
			l.x.Log.Warn("a message in the inbox is ignored", "id", in.ID, "error", err)
			continue
		}
		if in.ID == "" || !l.conv.State.Known(in.ID) {
			facts = append(facts, in.message(fact.AsNotice))
		}
	}
	return l.Commit(facts...)
}

// askNotices is an effect of the host. It asks tools for notices, the inbox for messages
// and the Context for notes.
type askNotices struct {
	run   *activeRun
	place Place    // the run's place
	texts []string // the notices of tools
	notes []Note   // about the place
}

const noticesKey = "notices"

func (*askNotices) Key() string        { return noticesKey }
func (*askNotices) Intent() event.Fact { return nil }

func (a *askNotices) Do(ctx *driver.Context) {
	a.texts = a.run.x.Notices()
	a.notes = a.run.x.notes(ctx.Context, a.place)
	a.run.pollInbox(ctx)
}

func (a *askNotices) Facts(bool) []event.Fact {
	var facts []event.Fact
	for _, text := range a.texts {
		facts = append(facts, Input{Text: text}.message(fact.AsNotice))
	}
	a.run.poll.done = true
	return append(facts, a.run.x.brief(a.run.conv.State, a.notes)...)
}

// GaveUp keeps the run from waiting for the same tool before each step.
func (a *askNotices) GaveUp() { a.run.poll.hung = true }
