package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A brood is the agents that a session has put to work in the background.
type brood struct {
	ctx    context.Context // ends with the session
	cancel context.CancelCauseFunc
	turn   chan struct{}  // has room for one: for who asks a person, at the root of a tree
	store  session.Memory // of the agents of a session that nothing is kept of

	mu     sync.Mutex
	closed bool
	keys   map[string]bool // of pieces of work that go on
	all    sync.WaitGroup
}

// children returns the session's brood.
func (s *Session) children() *brood {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.brood == nil {
		s.brood = &brood{keys: map[string]bool{}, turn: make(chan struct{}, 1), closed: s.closed}
		s.brood.ctx, s.brood.cancel = context.WithCancelCause(context.Background())
	}
	return s.brood
}

// childStore returns where the sessions of the session's agents are kept: beside its
// own facts.
func (s *Session) childStore(store session.Store) session.Store {
	if _, forgets := store.(unkept); forgets {
		return &s.children().store
	}
	return session.Under(store, s.ID)
}

// enter reserves the place of one more; it reports false once the session is closed.
func (b *brood) enter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.all.Add(1)
	}
	return !b.closed
}

// began notes that a piece of work goes on. It reports false if it does already.
func (b *brood) began(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.keys[key]
	b.keys[key] = true
	return !known
}

func (b *brood) leave(key string) {
	b.mu.Lock()
	delete(b.keys, key)
	b.mu.Unlock()
	b.all.Done()
}

// has reports whether a piece of work goes on in this program.
func (b *brood) has(key string) bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.keys[key]
}

// dismiss ends the agents in the background and waits for them.
func (s *Session) dismiss() {
	s.mu.Lock()
	b := s.brood
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

// work is a piece of work of a child.
type work struct {
	parent     *Parent
	session    *Session // the child's
	key        string
	name       string
	call       string
	toolID     string
	input      Input
	background bool
}

// do does the work, or what is left of it.
func (w *work) do(ctx context.Context) (*Result, error) {
	defer w.session.Close()
	open, err := w.session.Open(ctx)
	if err != nil {
		return nil, err
	}
	in := &w.input
	switch known := w.session.knows(in.ID); {
	case known && open:
		in = nil
	case known:
		res := w.session.Result()
		return res, res.failure()
	}
	l, err := w.session.start(ctx, in, w.parent.session.watched())
	if err != nil {
		return nil, err
	}
	for l.feed != nil {
		e, ok := l.feed.next()
		if !ok {
			break
		}
		w.parent.session.show(event.AgentEvent{Call: w.call, ID: w.toolID, Agent: w.name, Event: &e})
	}
	<-l.done
	return l.result, l.err
}

// ended makes the fact of what the work came to, and the text of the last answer.
func (w *work) ended(res *Result, err error) (event.AgentEnd, string) {
	end := event.AgentEnd{Key: w.key, Session: w.session.ID, Agent: w.name, Reason: event.Internal}
	if err != nil {
		end.Message = w.parent.loop.x.secrets.text(err.Error())
	}
	if res == nil { // it never ran
		end.Reason, end.CostUSD = event.Interrupted, new(float64)
		return end, ""
	}
	end.Reason, end.Message = res.Reason, w.parent.loop.x.secrets.text(res.Message)
	end.Turns, end.ModelCalls, end.Usage, end.CostUSD = res.Turns, res.modelCalls, res.Usage, res.CostUSD
	end.LostUSD, end.Models, end.Duration = res.lostUSD, res.Models, res.Duration
	return end, res.Text
}

// settle records what work in the background came to, with the notice of it.
func (s *Session) settle(w *work, res *Result, err error) {
	end, text := w.ended(res, err)
	text = w.parent.loop.x.finish(tool.Call{ID: w.call, Session: s.ID}, tool.Text(text)).Text()
	told := s.consult(context.Background(), func(f *fold, record func(...event.Fact) error) error {
		if _, ended := f.state.Worked(w.key); ended {
			return nil
		}
		facts := []event.Fact{end}
		if n := w.notice(end, text); !f.state.Known(n.ID) {
			facts = append(facts, n.message(event.AsNotice))
		}
		return record(facts...)
	})
	if told != nil { // the next run of the session finds out by itself
		w.parent.loop.x.log.Warn("recording the end of an agent", "agent", w.name, "session", w.session.ID, "error", told)
	}
}

// consult does something with what the session is, on record and in the run that goes
// on, or at rest. record records facts.
func (s *Session) consult(ctx context.Context, do func(f *fold, record func(...event.Fact) error) error) error {
	for {
		err := s.tell(ctx, func(l *loop) error { return do(l.fold, l.record) })
		if errors.Is(err, ErrNotRunning) {
			err = s.atRest(ctx, do)
		}
		if !errors.Is(err, ErrBusy) {
			return err
		}
		s.mu.Lock()
		l := s.loop
		s.mu.Unlock()
		select { // a run began between the two, or ends just now
		case <-l.done:
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// atRest is consult for a session without a run.
func (s *Session) atRest(ctx context.Context, do func(f *fold, record func(...event.Fact) error) error) error {
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
	return do(s.fold, func(facts ...event.Fact) error { return s.append(ctx, s.fold.last, facts...) })
}

// knows reports whether an input is on record in the session, which is open.
func (s *Session) knows(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fold != nil && s.fold.state.Known(id)
}

// watched reports whether somebody sees the events of the run that goes on.
func (s *Session) watched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running && s.loop.feed != nil
}

// show shows a signal in the run that goes on.
func (s *Session) show(sig event.Signal) {
	s.mu.Lock()
	l := s.loop
	running := s.running
	s.mu.Unlock()
	if running && l.feed != nil {
		l.feed.put(event.Event{Session: s.ID, Data: sig})
	}
}

// person waits for the turn to ask a person: one question of all agents of a tree is
// open at a time.
func (s *Session) person(ctx context.Context) (done func(), err error) {
	for s.agent.bond != nil {
		s = s.agent.bond.parent
	}
	b := s.children()
	select {
	case b.turn <- struct{}{}:
		return func() { <-b.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// orphans makes the facts of the ends of agents that worked when the program died:
// for a new prompt of all, else of those that no call goes on with.
func (s *Session) orphans(ctx context.Context, prompt bool) []event.Fact {
	var facts []event.Fact
	for _, at := range s.fold.state.AtWork() {
		if s.brood.has(at.Key) || !prompt && !at.Background && s.fold.state.Waits(at.Call) {
			continue
		}
		end, text := s.lastOf(ctx, at)
		facts = append(facts, end)
		w := &work{key: at.Key, name: at.Agent}
		if n := w.notice(end, text); at.Background && !s.fold.state.Known(n.ID) {
			facts = append(facts, n.message(event.AsNotice))
		}
	}
	return facts
}

// cutShort is what the model is told of an agent that died with its program.
const cutShort = "the program was cut short while it worked; it goes on when it is resumed by its id"

// lastOf reads what a child came to, from its own session.
func (s *Session) lastOf(ctx context.Context, at event.AgentStart) (event.AgentEnd, string) {
	end := event.AgentEnd{Key: at.Key, Session: at.Session, Agent: at.Agent, Reason: event.Internal, Message: cutShort}
	var state engine.State
	var last *event.RunEnd
	mine := false
	for e, err := range s.childStore(s.store()).Read(ctx, at.Session, 0) {
		if errors.Is(err, session.ErrNotFound) { // it had not begun
			end.Reason, end.CostUSD = event.Interrupted, new(float64)
			return end, ""
		}
		if err != nil {
			end.Message = err.Error()
			return end, ""
		}
		state.Apply(e)
		switch f := e.Data.(type) {
		case event.UserMessage:
			mine = mine || f.ID == at.Key
		case event.RunEnd:
			if mine && last == nil {
				last = &f
			}
		}
	}
	if last == nil && mine {
		if soFar, open := state.SoFar(); open {
			soFar.Reason, soFar.Message = event.Interrupted, cutShort
			last = &soFar
		}
	}
	if last == nil {
		end.Reason, end.CostUSD = event.Interrupted, new(float64)
		return end, ""
	}
	end.Reason, end.Message = last.Reason, last.Message
	end.Turns, end.ModelCalls, end.Usage, end.CostUSD, end.LostUSD = last.Turns, last.ModelCalls, last.Usage, last.CostUSD, last.LostUSD
	end.Models, end.Duration = last.Models, last.Duration
	return end, last.Text
}

// Children returns the agents that are at work for the session.
func (s *Session) Children() []event.AgentStart {
	var out []event.AgentStart
	_ = s.consult(context.Background(), func(f *fold, _ func(...event.Fact) error) error {
		out = f.state.AtWork()
		return nil
	})
	return out
}
