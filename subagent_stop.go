package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/subagents"
	"github.com/openagent-go/agent/permission"
)

// ErrNoAgent is matched if no working agent has the id or name.
var ErrNoAgent = errors.New("no such agent is at work")

// StopAgent stops a working sub-agent of the session, in the background or not. id is the
// id of the agent's session, or its name. StopAgent does not wait for the end. It fails
// with [ErrNoAgent].
func (s *Session) StopAgent(id string) error {
	for _, at := range s.Children() {
		if (at.Session == id || at.Agent == id) && s.subagents().Stop(at.Key, subagents.ErrStopped) {
			return nil
		}
	}
	return fmt.Errorf("agent: stopping the agent %q: %w; Children lists the working agents", id, ErrNoAgent)
}

// interruptAgents stops the background agents after an interrupt of the session. None can
// begin before the next run. It returns the ids of their sessions.
func (s *Session) interruptAgents() (stopped []string) {
	if b := s.startedAgents(); b != nil {
		return b.Halt()
	}
	return nil
}

// allowAgents lets agents begin again. The caller holds s.mu.
func (s *Session) allowAgents() {
	if s.lazyOverrides != nil && s.lazyOverrides.agents != nil {
		s.lazyOverrides.agents.Allow()
	}
}

// Ready waits until agents may begin. After an interrupt, that is the next run.
func (p *parentRun) Ready(ctx context.Context) error { return p.session.subagents().Ready(ctx) }

// stopsAgents reports whether a fact stops the background agents. The end of an earlier
// run, which a prompt closes, stops none.
func (l *activeRun) stopsAgents(f event.Fact) bool {
	if l.ClosesEarlier() {
		return false
	}
	switch f := f.(type) {
	case fact.Stopped:
		return f.Reason != event.Suspended
	case event.RunEnd:
		return f.Reason == event.TimedOut
	}
	return false
}

// currentMode returns the current mode that limits the session's agents.
func (s *Session) currentMode() permission.Mode {
	s.mu.Lock()
	l, mode := s.active, s.overrides().mode
	s.mu.Unlock()
	if mode == "" && l != nil {
		if m := l.x.Mode.Load(); m != nil {
			mode = *m
		}
	}
	return s.definition().strictestMode(mode)
}

// strictestMode returns mode, or the mode of an agent above this one if that permits less.
func (a *Agent) strictestMode(mode permission.Mode) permission.Mode {
	if a.parentLink == nil {
		return mode
	}
	return subagents.Stricter(mode, a.parentLink.parent.currentMode())
}

// A parentOf implements [subagents.Parent] for the agents of a session.
type parentOf struct{ session *Session }

// setup returns the setup of the session's run.
func (p parentOf) setup() *runSetup {
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	return p.session.active.x
}

// Rules implements [subagents.Parent].
func (p parentOf) Rules() *policies.Compiled {
	return p.setup().Rules.Load().In(p.session.currentMode())
}

// Unreadable implements [subagents.Parent].
func (p parentOf) Unreadable() *rules.Unreadable { return p.setup().Unreadable.Load() }
