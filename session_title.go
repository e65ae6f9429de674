package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/session"
)

// SetTitle gives the session a title for lists. "" removes it. The title is on record when
// SetTitle returns, also during a run. The model does not see it. To rename a session that
// you have not opened, use [session.Rename].
func (s *Session) SetTitle(ctx context.Context, title string) error {
	return s.name(ctx, func(n *event.SessionNamed) { n.Title = title })
}

// SetTag gives the session a tag, a word to find it by. "" removes it. Otherwise it works
// like SetTitle.
func (s *Session) SetTag(ctx context.Context, tag string) error {
	return s.name(ctx, func(n *event.SessionNamed) { n.Tag = tag })
}

func (s *Session) name(ctx context.Context, change func(*event.SessionNamed)) error {
	return s.withSession(ctx, func(f *conversation.Conversation, record func(...event.Fact) error) error {
		n, err := renamed(f.Named, change)
		if err != nil {
			return err
		}
		return record(n)
	})
}

// append records facts of a session without a run. prev is the fact before the first of
// them. The caller holds s.mu.
func (s *Session) append(ctx context.Context, prev int64, facts ...event.Fact) error {
	var events []event.Event
	for _, f := range facts {
		seq := s.state.Last + 1 + int64(len(events))
		events = append(events, event.Event{Seq: seq, Prev: prev, Time: now(), Session: s.ID, Data: f})
		prev = seq
	}
	if err := s.state.log.Append(ctx, s.state.Last, true, events...); err != nil {
		err = fmt.Errorf("agent: recording in session %s: %w", s.ID, err)
		if errors.Is(err, session.ErrBroken) {
			err = errors.Join(err, s.state.log.Close())
			s.state = nil // the next use opens the session again
		}
		return err
	}
	for _, e := range events {
		s.state.Apply(e)
	}
	s.publish(events...)
	return nil
}

// renamed returns the changed title and tag of a session.
func renamed(had *event.SessionNamed, change func(*event.SessionNamed)) (event.SessionNamed, error) {
	var n event.SessionNamed
	if had != nil {
		n = *had
	}
	change(&n)
	n, err := session.Named(n.Title, n.Tag)
	if err != nil {
		return n, fmt.Errorf("agent: naming the session: %w", err)
	}
	return n, nil
}
