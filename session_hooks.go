package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/hookctx"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/internal/secrets"
	"github.com/openagent-go/agent/session"
)

// Hook calls the session's hooks for an event of the host, such as [hook.MessageDisplay].
// It returns their outcome, which the host carries out. It sets the session, the transcript
// and the agent of in. It also sets the directory and the mode if they are empty. It fails
// with [hook.ErrDepth] if hooks are nested too deeply.
func (s *Session) Hook(ctx context.Context, in hook.Input) (hook.Outcome, error) {
	a := s.definition()
	set, err := hookrun.Compile(a.Hooks)
	if err != nil {
		return hook.Outcome{}, fmt.Errorf("agent: %w: Hooks: %w", ErrConfig, err)
	}
	if len(set.Events()) == 0 || !slices.Contains(set.Events(), in.Event) {
		return hook.Outcome{}, nil
	}
	if hookctx.Depth(ctx) > hookctx.MaxDepth {
		return hook.Outcome{}, fmt.Errorf("agent: %w", hook.ErrDepth)
	}
	s.mu.Lock()
	l, journal := s.active, journalOf(s.store(), s.ID)
	if in.Mode == "" && s.state != nil && !s.running {
		in.Mode = s.state.State.Mode()
	}
	s.mu.Unlock()
	if in.Dir == "" {
		if in.Dir, err = a.dir(); err != nil {
			return hook.Outcome{}, err
		}
	}
	in.Session, in.Transcript, in.Agent, in.AgentID = s.ID, journal, a.kindOrName(), a.childID(s.ID)
	var known *secrets.Redactor
	if l != nil {
		known = l.x.Secrets
	} else {
		known = secrets.Of(a.Secrets, a.Tools, a.models())
	}
	x := newRunSetup(s, a, set, known, nil, nil, nil)
	return x.CallHooks(ctx, in, nil).Outcome, nil
}

// journalOf returns the path of a session's journal file, "" if the store has none.
func journalOf(s session.Store, id string) string {
	if p, ok := s.(interface{ Journal(id string) string }); ok {
		return p.Journal(id)
	}
	return ""
}

// end calls the SessionEnd hooks once, if a run began in the session.
func (s *Session) end() {
	s.mu.Lock()
	began := s.prompted && !s.ended && s.active != nil && s.definition().parentLink == nil // a subagent has its SubagentStop
	s.ended = s.ended || began
	s.mu.Unlock()
	if began && slices.ContainsFunc(s.definition().Hooks, func(h hook.Hook) bool { return h.On == hook.SessionEnd }) {
		s.tellEnd()
	}
}

func (s *Session) tellEnd() {
	if _, err := s.Hook(context.Background(), hook.Input{Event: hook.SessionEnd, Reason: "other"}); err != nil {
		s.active.x.Log.Warn("SessionEnd hooks were not called", "error", err)
	}
}
