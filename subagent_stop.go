package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/permission"
)

// ErrAgentStopped is matched by the end of an agent that somebody has stopped, by
// [Parent.Stop] or [Session.StopAgent].
var ErrAgentStopped = errors.New("it was stopped")

// ErrNoAgent is matched where no agent of an id or a name is at work.
var ErrNoAgent = errors.New("no such agent is at work")

// errHalted is the cause of the end of agents whose session was interrupted.
var errHalted = errors.New("the session that it works for was interrupted")

// StopAgent ends an agent that is at work for the session, by its session's id or its
// name, in the background or not. It does not wait for the end. It fails with
// [ErrNoAgent].
func (s *Session) StopAgent(id string) error {
	for _, at := range s.Children() {
		if (at.Session == id || at.Agent == id) && s.subagents().stopOne(at.Key, ErrAgentStopped) {
			return nil
		}
	}
	return fmt.Errorf("agent: stopping the agent %q: %w; Children lists those that are", id, ErrNoAgent)
}

// stopOne ends a piece of work and reports whether it went on.
func (b *subagents) stopOne(key string, cause error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	w, ok := b.works[key]
	if ok {
		w.cancel(cause)
	}
	return ok
}

// interruptAgents ends the agents in the background, since the session was interrupted, and lets
// none begin before the next run. It returns the ids of their sessions.
func (s *Session) interruptAgents() (stopped []string) {
	s.mu.Lock()
	var b *subagents
	if s.set != nil {
		b = s.set.agents
	}
	s.mu.Unlock()
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.blocked == nil {
		b.blocked = make(chan struct{})
	}
	for _, w := range b.works {
		if w.background {
			w.cancel(errHalted)
			stopped = append(stopped, w.session)
		}
	}
	slices.Sort(stopped)
	return stopped
}

// allowAgents lets agents begin again. It is called with the session's lock.
func (s *Session) allowAgents() {
	if s.set == nil || s.set.agents == nil {
		return
	}
	b := s.set.agents
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.blocked != nil {
		close(b.blocked)
		b.blocked = nil
	}
}

// Ready waits until agents may begin: after an interrupt, for the next run.
func (p *Parent) Ready(ctx context.Context) error {
	b := p.session.subagents()
	for {
		b.mu.Lock()
		halted := b.blocked
		b.mu.Unlock()
		if halted == nil {
			return ctx.Err()
		}
		select {
		case <-halted:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

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
	if above := a.parentLink.parent.currentMode(); strictness(above) > strictness(mode) {
		return above
	}
	return mode
}

// strictness orders modes by how much they forbid.
func strictness(m permission.Mode) int {
	return slices.Index([]permission.Mode{"", permission.Bypass, permission.Auto, permission.AcceptEdits, permission.Default, permission.DontAsk, permission.Plan}, m)
}
