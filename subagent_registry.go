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
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/subagents"
	"github.com/openagent-go/agent/session"
)

// A subagentSet holds the sub-agents that a session has started.
type subagentSet struct {
	*subagents.Registry[*Session]
	store session.Store // for the agents of a session that is not kept
}

// subagents returns the set of the session's agents.
func (s *Session) subagents() *subagentSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.subagentsLocked()
}

// subagentsLocked is subagents for a caller that holds s.mu.
func (s *Session) subagentsLocked() *subagentSet {
	if s.overrides().agents == nil {
		s.lazyOverrides.agents = &subagentSet{Registry: subagents.New[*Session](), store: session.Memory()}
		if s.closed {
			s.lazyOverrides.agents.Close(ErrClosed)
		}
	}
	return s.lazyOverrides.agents
}

// startedAgents returns the set of the session's agents, nil if it has never started any.
func (s *Session) startedAgents() *subagentSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lazyOverrides == nil {
		return nil
	}
	return s.lazyOverrides.agents
}

// stopSubagents stops the agents and waits for them.
func (s *Session) stopSubagents() {
	if b := s.startedAgents(); b != nil {
		b.Close(ErrClosed)
	}
}

// childStore returns the store for the sessions of the session's agents. They are stored
// under the session.
func (s *Session) childStore(store session.Store) session.Store {
	return s.subagents().storeFor(s.ID, store)
}

func (b *subagentSet) storeFor(parent string, store session.Store) session.Store {
	if _, forgets := store.(discard.Store); forgets {
		return b.store
	}
	return session.Under(store, parent)
}

// errSpent is the reason for stopping a child when a new budget leaves nothing for it.
var errSpent = errors.New("nothing is left of the budget for it")

// boundAgents limits the working agents to their shares of the parent's new budget.
func (s *Session) boundAgents(ctx context.Context, budget fact.Limits, work []event.AgentStart) {
	b := s.subagents()
	for _, at := range work {
		child, _ := b.Child(at.Key)
		if child == nil {
			continue
		}
		if subagents.Spent(budget, at) {
			b.Stop(at.Key, errSpent)
			continue
		}
		had := child.definition().Budget
		own := had
		own.USD, own.ModelCalls, own.Turns = subagents.Least(own.USD, at.ReservedUSD), subagents.Least(own.ModelCalls, at.ModelCalls), subagents.Least(own.Turns, at.Turns)
		if own == had {
			continue
		}
		if err := child.SetBudget(ctx, own); err != nil { // the price of its model is unknown
			b.Stop(at.Key, fmt.Errorf("it cannot be bounded: %w", err))
		}
	}
}

// recoverAbandoned returns the end facts of agents that were working when the program died.
// It settles the quota of their calls.
// The caller holds s.mu.
func (s *Session) recoverAbandoned(ctx context.Context, x *runSetup, prompt bool) []event.Fact {
	if len(s.state.State.Agents().AtWork()) == 0 {
		return nil
	}
	b := s.subagentsLocked()
	return subagents.Abandoned(s.state.State, prompt, b.Has, func(at event.AgentStart) (event.AgentEnd, string, string) {
		end, text, dir, state := subagents.Recover(ctx, b.storeFor(s.ID, s.store()), at)
		x.settleBroken(ctx, at.Session, state)
		return end, text, dir
	})
}

// withSession calls do with the state of the session, during a run or without one. do must not
// lock s.mu, which is held if the session has no run. record appends facts to the
// journal.
func (s *Session) withSession(ctx context.Context, do func(f *conversation.Conversation, record func(...event.Fact) error) error) error {
	for {
		err := s.withRun(ctx, func(l *activeRun) error { return do(l.conv, l.Commit) })
		if errors.Is(err, ErrNotRunning) {
			err = s.withIdleSession(ctx, do)
		}
		if !errors.Is(err, errPromptRuns) {
			return err
		}
		s.mu.Lock()
		l := s.active
		s.mu.Unlock()
		select { // a run has just begun, or is about to end
		case <-l.Done():
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// withIdleSession is withSession for a session without a run.
func (s *Session) withIdleSession(ctx context.Context, do func(f *conversation.Conversation, record func(...event.Fact) error) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		return errPromptRuns
	}
	if s.state == nil {
		if err := s.open(ctx, ""); err != nil {
			return err
		}
	}
	return do(&s.state.Conversation, func(facts ...event.Fact) error { return s.append(ctx, s.state.Last, facts...) })
}

// knows reports whether an input is on record. It is false if the session is not open.
func (s *Session) knows(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state != nil && s.state.State.Known(id)
}

// watched reports whether the current run has a reader for its events.
func (s *Session) watched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running && s.active.Events() != nil
}

// show sends a signal to the reader of the current run, if there is one.
func (s *Session) show(sig event.Signal) {
	s.mu.Lock()
	l := s.active
	running := s.running
	s.mu.Unlock()
	if running && l.Events() != nil {
		l.Events().Put(event.Event{Session: s.ID, Data: sig})
	}
}

// person waits for the turn to ask a person. In a tree of agents, only one question is open
// at a time.
func (s *Session) person(ctx context.Context) (done func(), err error) {
	for b := s.definition().parentLink; b != nil; b = s.definition().parentLink {
		s = b.parent
	}
	return s.subagents().AskTurn(ctx)
}

// Children returns the sub-agents of the session that are working in this program. If a
// program died, the next run records the ends of its agents.
func (s *Session) Children() []event.AgentStart {
	var out []event.AgentStart
	b := s.subagents()
	_ = s.withSession(context.Background(), func(f *conversation.Conversation, _ func(...event.Fact) error) error {
		out = slices.DeleteFunc(f.State.Agents().AtWork(), func(at event.AgentStart) bool { return !b.Has(at.Key) })
		return nil
	})
	return out
}
