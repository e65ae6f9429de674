package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/internal/discard"
	"github.com/openagent-go/agent/session"
)

// A subagents is the agents that a session has put to work.
type subagents struct {
	ctx    context.Context // ends with the session
	cancel context.CancelCauseFunc
	turn   chan struct{}  // has room for one: for who asks a person, at the root of a tree
	store  session.Memory // of the agents of a session that nothing is kept of

	mu      sync.Mutex
	closed  bool
	blocked chan struct{}              // not nil after an interrupt, until the next run
	works   map[string]runningSubagent // pieces of work that go on, by key
	all     sync.WaitGroup
}

// runningSubagent is a piece of work that goes on.
type runningSubagent struct {
	session    string   // the child's
	child      *Session // nil until it is made
	background bool
	cancel     context.CancelCauseFunc
}

// subagents returns the session's subagents.
func (s *Session) subagents() *subagents {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settings().agents == nil {
		s.set.agents = &subagents{works: map[string]runningSubagent{}, turn: make(chan struct{}, 1), closed: s.closed}
		s.set.agents.ctx, s.set.agents.cancel = context.WithCancelCause(context.Background())
		if s.closed {
			s.set.agents.cancel(ErrClosed)
		}
	}
	return s.set.agents
}

// childStore returns where the sessions of the session's agents are kept: beside its
// own facts.
func (s *Session) childStore(store session.Store) session.Store {
	if _, forgets := store.(discard.Store); forgets {
		return &s.subagents().store
	}
	return session.Under(store, s.ID)
}

// enter reserves the place of one more; it reports false once the session is closed.
func (b *subagents) enter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.all.Add(1)
	}
	return !b.closed
}

// begin notes that a piece of work goes on, in ctx or until the session is closed, and
// returns the context for it. What it returns last has to be called when it has ended.
func (b *subagents) begin(ctx context.Context, c Child, session string, background bool) (context.Context, func(), error) {
	if !b.enter() {
		return nil, nil, ErrClosed
	}
	key := c.key()
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.works[key]; known {
		defer b.all.Done()
		return nil, nil, fmt.Errorf("agent: starting %s: this piece of work, %s, goes on", c.called(), key)
	}
	if background {
		if b.blocked != nil {
			defer b.all.Done()
			return nil, nil, fmt.Errorf("agent: starting %s: %w", c.called(), errHalted)
		}
		ctx = b.ctx
	}
	ctx, cancel := context.WithCancelCause(ctx)
	b.works[key] = runningSubagent{session, nil, background, cancel}
	return ctx, func() {
		cancel(nil)
		b.mu.Lock()
		delete(b.works, key)
		b.mu.Unlock()
		b.all.Done()
	}, nil
}

// attach notes the session of a piece of work that goes on.
func (b *subagents) attach(key string, child *Session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w, ok := b.works[key]; ok {
		w.child = child
		b.works[key] = w
	}
}

// errSpent is the cause of the end of a child for which a new budget leaves nothing.
var errSpent = errors.New("nothing is left of the budget for it")

// bound bounds the agents at work by what a new budget of their parent leaves to them.
func (b *subagents) bound(ctx context.Context, budget Budget, work []event.AgentStart) {
	for _, at := range work {
		b.mu.Lock()
		w, ok := b.works[at.Key]
		b.mu.Unlock()
		if !ok || w.child == nil {
			continue
		}
		if budget.USD > 0 && at.ReservedUSD <= 0 || budget.ModelCalls > 0 && at.ModelCalls <= 0 || budget.Turns > 0 && at.Turns <= 0 {
			w.cancel(errSpent)
			continue
		}
		had := w.child.def().Budget
		own := had
		own.USD, own.ModelCalls, own.Turns = least(own.USD, at.ReservedUSD), least(own.ModelCalls, at.ModelCalls), least(own.Turns, at.Turns)
		if own == had {
			continue
		}
		if err := w.child.SetBudget(ctx, own); err != nil { // the price of its model is not known
			w.cancel(fmt.Errorf("it cannot be bounded: %w", err))
		}
	}
}

// stop ends the work of a child in the background.
func (b *subagents) stop(session string) (found bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.works {
		if w.session == session && w.background {
			w.cancel(ErrAgentStopped)
			found = true
		}
	}
	return found
}

// has reports whether a piece of work goes on in this program.
func (b *subagents) has(key string) bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.works[key]
	return ok
}

// stopSubagents ends the agents and waits for them.
func (s *Session) stopSubagents() {
	s.mu.Lock()
	var b *subagents
	if s.set != nil {
		b = s.set.agents
	}
	s.mu.Unlock()
	if b == nil {
		return
	}
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cancel(ErrClosed)
	b.all.Wait()
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
	b := s.subagents()
	select {
	case b.turn <- struct{}{}:
		return func() { <-b.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Children returns the agents that are at work for the session in this program. What
// has become of those of a program that died is recorded by the next run.
func (s *Session) Children() []event.AgentStart {
	var out []event.AgentStart
	b := s.subagents()
	_ = s.withSession(context.Background(), func(f *conversation.Conversation, _ func(...event.Fact) error) error {
		out = slices.DeleteFunc(f.State.Agents().AtWork(), func(at event.AgentStart) bool { return !b.has(at.Key) })
		return nil
	})
	return out
}
