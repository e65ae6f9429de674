package agent

import (
	"context"
	"errors"
	"sync"
)

// Detach stops a running prompt so that it can be resumed later, and closes the session as
// [Session.Close] does. Call it before your program ends: [Session.Resume] then continues
// the run, in this process or in another one. It needs a new Session with the same id.
//
// From the call on, the run starts nothing more. A model call is cancelled, and the resumed
// run repeats it. The call's cost so far counts, as for any call that broke off. Tools that run
// may end until ctx ends, and their results are on record. Then they are cancelled. A cancelled
// tool is repeated if it only reads or is idempotent. Otherwise the model gets what it
// returned. A question to a person is asked again.
//
// Sub-agents are detached too, and the resumed run continues them. A background agent that
// outlasts its run makes the session resumable.
//
// The caller of the run gets an error that matches [ErrDetached], and the Result so far,
// without a Reason. No [event.RunEnd] is recorded. A run that ends or is interrupted in the
// meantime keeps its own end. Start runs with a context that the signal does not end,
// because the end of that context interrupts a run for good.
//
// Do not call Detach from a tool, a hook or a callback of the session, because it waits for
// them.
func (s *Session) Detach(ctx context.Context) error {
	s.mu.Lock()
	s.closed, s.detached = true, true
	l, running := s.active, s.running
	s.mu.Unlock()
	if running {
		defer l.Detach(ctx, l.left)()
	}
	if b := s.startedAgents(); b != nil {
		var children sync.WaitGroup
		for _, child := range b.Children() {
			children.Go(func() { child.Detach(ctx) })
		}
		children.Wait()
	}
	if running {
		<-l.Done()
	}
	return s.Close()
}

// isDetached reports whether Detach was called.
func (s *Session) isDetached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.detached
}

// left reads the outcome of a detached run, and returns what sets it for the run's caller.
func (l *activeRun) left() func() {
	end, _ := l.conv.State.SoFar()
	end.Reason, end.Message = "", ErrDetached.Error()
	return func() {
		l.result, l.err = &Result{Session: l.s.ID, RunEnd: end}, errors.Join(ErrDetached, l.Stuck())
		l.s.mu.Lock()
		defer l.s.mu.Unlock()
		l.s.last = l.result
	}
}

// repeatCall leaves the parent's call without a result, so that the resumed run repeats it
// and the agent continues.
func (p *parentRun) repeatCall(w *subagentTask) {
	_ = p.session.withRun(context.Background(), func(l *activeRun) error {
		l.RecordInstead(w.call, nil)
		return nil
	})
}
