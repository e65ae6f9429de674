package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/internal/discard"
	"github.com/openagent-go/agent/internal/subagents"
	"github.com/openagent-go/agent/session"
)

// A subagentSet is the agents that a session has put to work.
type subagentSet struct {
	*subagents.Registry[*Session]
	store session.Memory // of the agents of a session that nothing is kept of
}

// subagents returns the session's agents.
func (s *Session) subagents() *subagentSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.subagentsLocked()
}

// subagentsLocked is subagents for a caller that has the session's lock.
func (s *Session) subagentsLocked() *subagentSet {
	if s.settings().agents == nil {
		s.set.agents = &subagentSet{Registry: subagents.New[*Session]()}
		if s.closed {
			s.set.agents.Close(ErrClosed)
		}
	}
	return s.set.agents
}

// startedAgents returns the session's agents, nil if it has never started any.
func (s *Session) startedAgents() *subagentSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil {
		return nil
	}
	return s.set.agents
}

// stopSubagents ends the agents and waits for them.
func (s *Session) stopSubagents() {
	if b := s.startedAgents(); b != nil {
		b.Close(ErrClosed)
	}
}

// childStore returns where the sessions of the session's agents are kept: beside its
// own facts.
func (s *Session) childStore(store session.Store) session.Store {
	return s.subagents().storeFor(s.ID, store)
}

func (b *subagentSet) storeFor(parent string, store session.Store) session.Store {
	if _, forgets := store.(discard.Store); forgets {
		return &b.store
	}
	return session.Under(store, parent)
}

// errSpent is the cause of the end of a child for which a new budget leaves nothing.
var errSpent = errors.New("nothing is left of the budget for it")

// boundAgents bounds the agents at work by what a new budget of their parent leaves to them.
func (s *Session) boundAgents(ctx context.Context, budget event.Limits, work []event.AgentStart) {
	b := s.subagents()
	for _, at := range work {
		child, ok := b.Child(at.Key)
		if !ok || child == nil {
			continue
		}
		if subagents.Spent(budget, at) {
			b.Stop(at.Key, errSpent)
			continue
		}
		had := child.def().Budget
		own := had
		own.USD, own.ModelCalls, own.Turns = subagents.Least(own.USD, at.ReservedUSD), subagents.Least(own.ModelCalls, at.ModelCalls), subagents.Least(own.Turns, at.Turns)
		if own == had {
			continue
		}
		if err := child.SetBudget(ctx, own); err != nil { // the price of its model is not known
			b.Stop(at.Key, fmt.Errorf("it cannot be bounded: %w", err))
		}
	}
}

// recoverAbandoned makes the facts of the ends of agents that worked when the program died.
// It is called with the session's lock.
func (s *Session) recoverAbandoned(ctx context.Context, prompt bool) []event.Fact {
	if len(s.fold.State.Agents().AtWork()) == 0 {
		return nil
	}
	b := s.subagentsLocked()
	return subagents.Abandoned(s.fold.State, prompt, b.Has, func(at event.AgentStart) (event.AgentEnd, string, string) {
		return subagents.LastResult(ctx, b.storeFor(s.ID, s.store()), at)
	})
}

// withSession does something with what the session is, on record and in the run that goes
// on, or at rest. record records facts.
func (s *Session) withSession(ctx context.Context, do func(f *conversation.Conversation, record func(...event.Fact) error) error) error {
	for {
		err := s.withRun(ctx, func(l *activeRun) error { return do(l.conv, l.Commit) })
		if errors.Is(err, ErrNotRunning) {
			err = s.withIdleSession(ctx, do)
		}
		if !errors.Is(err, ErrBusy) {
			return err
		}
		s.mu.Lock()
		l := s.loop
		s.mu.Unlock()
		select { // a run began between the two, or ends just now
		case <-l.Done():
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// withIdleSession is consult for a session without a run.
func (s *Session) withIdleSession(ctx context.Context, do func(f *conversation.Conversation, record func(...event.Fact) error) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		return ErrBusy
	}
	if s.fold == nil {
		if err := s.open(ctx, ""); err != nil {
			return err
		}
	}
	return do(&s.fold.Conversation, func(facts ...event.Fact) error { return s.append(ctx, s.fold.Last, facts...) })
}

// knows reports whether an input is on record in the session, which is open.
func (s *Session) knows(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fold != nil && s.fold.State.Known(id)
}

// watched reports whether somebody sees the events of the run that goes on.
func (s *Session) watched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running && s.loop.Events() != nil
}

// show shows a signal in the run that goes on.
func (s *Session) show(sig event.Signal) {
	s.mu.Lock()
	l := s.loop
	running := s.running
	s.mu.Unlock()
	if running && l.Events() != nil {
		l.Events().Put(event.Event{Session: s.ID, Data: sig})
	}
}

// person waits for the turn to ask a person: one question of all agents of a tree is
// open at a time.
func (s *Session) person(ctx context.Context) (done func(), err error) {
	for b := s.def().parentLink; b != nil; b = s.def().parentLink {
		s = b.parent
	}
	return s.subagents().AskTurn(ctx)
}

// Children returns the agents that are at work for the session in this program. What
// has become of those of a program that died is recorded by the next run.
func (s *Session) Children() []event.AgentStart {
	var out []event.AgentStart
	b := s.subagents()
	_ = s.withSession(context.Background(), func(f *conversation.Conversation, _ func(...event.Fact) error) error {
		out = slices.DeleteFunc(f.State.Agents().AtWork(), func(at event.AgentStart) bool { return !b.Has(at.Key) })
		return nil
	})
	return out
}
