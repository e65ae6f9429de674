package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/subagents"
	"github.com/openagent-go/agent/permission"
)

// ErrAgentStopped is matched by the end of an agent that somebody has stopped, by
// [Parent.Stop] or [Session.StopAgent].
var ErrAgentStopped = errors.New("it was stopped")

// ErrNoAgent is matched where no agent of an id or a name is at work.
var ErrNoAgent = errors.New("no such agent is at work")

// StopAgent ends an agent that is at work for the session, by its session's id or its
// name, in the background or not. It does not wait for the end. It fails with
// [ErrNoAgent].
func (s *Session) StopAgent(id string) error {
	for _, at := range s.Children() {
		if (at.Session == id || at.Agent == id) && s.subagents().Stop(at.Key, ErrAgentStopped) {
			return nil
		}
	}
	return fmt.Errorf("agent: stopping the agent %q: %w; Children lists those that are", id, ErrNoAgent)
}

// interruptAgents ends the agents in the background, since the session was interrupted, and lets
// none begin before the next run. It returns the ids of their sessions.
func (s *Session) interruptAgents() (stopped []string) {
	if b := s.startedAgents(); b != nil {
		return b.Halt()
	}
	return nil
}

// allowAgents lets agents begin again. It is called with the session's lock.
func (s *Session) allowAgents() {
	if s.set != nil && s.set.agents != nil {
		s.set.agents.Allow()
	}
}

// Ready waits until agents may begin: after an interrupt, for the next run.
func (p *Parent) Ready(ctx context.Context) error { return p.session.subagents().Ready(ctx) }

// stopsAgents reports whether a fact stops the agents in the background: those of a run that
// is being stopped. A prompt that closes an earlier run stops none.
func (l *activeRun) stopsAgents(f event.Fact) bool {
	if l.ClosesEarlier() {
		return false
	}
	switch f := f.(type) {
	case event.Stopped:
		return f.Reason != event.Suspended
	case event.RunEnd:
		return f.Reason == event.TimedOut
	}
	return false
}

// currentMode is the mode that bounds the agents of a session, as it is at this moment.
func (s *Session) currentMode() permission.Mode {
	s.mu.Lock()
	l, mode := s.loop, s.settings().mode
	s.mu.Unlock()
	if mode == "" && l != nil {
		if m := l.x.Mode.Load(); m != nil {
			mode = *m
		}
	}
	return s.def().strictestMode(mode)
}

// strictestMode is a mode, or the one of those that the agent works for that permits least.
func (a *Agent) strictestMode(mode permission.Mode) permission.Mode {
	if a.parentLink == nil {
		return mode
	}
	return subagents.Stricter(mode, a.parentLink.parent.currentMode())
}

// A parentOf is what bounds the calls of a session's agents.
type parentOf struct{ session *Session }

// setup is that of the session's run.
func (p parentOf) setup() *runSetup {
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	return p.session.loop.x
}

// Rules implements [subagents.Parent].
func (p parentOf) Rules() *permission.Compiled {
	return p.setup().Rules.Load().In(p.session.currentMode())
}

// Unreadable implements [subagents.Parent].
func (p parentOf) Unreadable() *permission.Unreadable { return p.setup().Unreadable.Load() }
