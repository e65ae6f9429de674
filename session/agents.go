package session

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
)

// An agents list says which sub-agents the facts of a session tell of, and by the keys
// of their prompts how much of their work. A fork takes these along.
type agents struct {
	ids  []string // of their sessions, in order
	keys map[string]map[string]bool
}

// fact takes in a fact of the session.
func (a *agents) fact(d event.Data) {
	f, ok := d.(event.AgentStart)
	if !ok || CheckID(f.Session) != nil {
		return
	}
	if a.keys == nil {
		a.keys = map[string]map[string]bool{}
	}
	if a.keys[f.Session] == nil {
		a.keys[f.Session] = map[string]bool{}
		a.ids = append(a.ids, f.Session)
	}
	a.keys[f.Session][f.Key] = true
}

// copy copies the agents' sessions from one session's store to another's, up to the work
// that the facts record. An agent that has not begun is skipped.
func (a *agents) copy(ctx context.Context, src, dst Store) error {
	if d, ok := dst.(*shared); ok {
		d.own = true
		dst = d
	}
	for _, id := range a.ids {
		err := a.copyOne(ctx, src, dst, id)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("copying the agent %s: %w", id, err)
		}
	}
	return nil
}

func (a *agents) copyOne(ctx context.Context, src, dst Store, id string) error {
	through, err := a.known(ctx, src, id)
	if err != nil || through == 0 {
		return err
	}
	info, err := Stat(ctx, src, id)
	if err != nil {
		return err
	}
	if d, ok := dst.(Deleter); ok { // an attempt that was killed may have left it
		if err := d.Delete(ctx, id); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return forkTo(ctx, src, dst, info, id, through)
}

// known returns the number of the last fact of an agent that belongs to work recorded in
// the session, 0 if there is none.
func (a *agents) known(ctx context.Context, src Store, id string) (int64, error) {
	ended, last, begun := int64(0), int64(0), false
	for e, err := range src.Read(ctx, id, 0) {
		if err != nil {
			return 0, err
		}
		switch d := e.Data.(type) {
		case event.UserMessage:
			if d.Delivery != fact.AsPrompt {
				break
			}
			if !a.keys[id][d.ID] {
				return ended, nil
			}
			begun = true
		case event.RunEnd:
			if begun {
				ended = e.Seq
			}
		}
		last = e.Seq
	}
	if !begun {
		return 0, nil
	}
	return last, nil
}

// A shared store keeps the sub-agents of a session in a Store that has one place for all
// sessions. Agents of a fork have different names there, because a fork shares the ids of
// its agents with the original.
type shared struct {
	Store
	session string
	own     bool // each has its own name
}

// at returns the id by which the store has an agent's session.
func (s *shared) at(ctx context.Context, id string) (string, error) {
	if err := CheckID(id); err != nil {
		return "", err
	}
	if !s.own {
		switch info, err := Stat(ctx, s.Store, s.session); {
		case err != nil && !errors.Is(err, ErrNotFound):
			return "", err
		case info.Parent == nil:
			return id, nil
		}
	}
	return DerivedID(s.session, "agent "+id), nil
}

// below returns the store for the agents of an agent.
func (s *shared) below(id string) Store {
	at, err := s.at(context.Background(), id)
	if err != nil {
		at = id // the same failure comes again when a session is opened
	}
	return &shared{Store: s.Store, session: at, own: s.own || at != id}
}

// Open implements [Store].
func (s *shared) Open(ctx context.Context, id string, header Header) (Log, error) {
	at, err := s.at(ctx, id)
	if err != nil {
		return nil, err
	}
	header.Session = at
	log, err := s.Store.Open(ctx, at, header)
	if err != nil || at == id {
		return log, err
	}
	return renamedLog{log, at}, nil
}

// Read implements [Store].
func (s *shared) Read(ctx context.Context, id string, after int64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		at, err := s.at(ctx, id)
		if err != nil {
			yield(event.Event{}, err)
			return
		}
		for e, err := range s.Store.Read(ctx, at, after) {
			if err == nil {
				e.Session = id
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Stat returns the Info of an agent's session.
func (s *shared) Stat(ctx context.Context, id string) (Info, error) {
	at, err := s.at(ctx, id)
	if err != nil {
		return Info{}, err
	}
	info, err := Stat(ctx, s.Store, at)
	if err == nil {
		info.Session = id
	}
	return info, err
}

// A renamedLog is the log of a session that its store has by another id.
type renamedLog struct {
	Log
	at string
}

func (l renamedLog) Append(ctx context.Context, after int64, sync bool, events ...event.Event) error {
	renamed := make([]event.Event, len(events))
	for i, e := range events {
		e.Session = l.at
		renamed[i] = e
	}
	return l.Log.Append(ctx, after, sync, renamed...)
}
