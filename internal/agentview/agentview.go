// Package agentview reads what the sub-agents of a session did into the session's view, and into
// its timeline.
package agentview

import (
	"context"
	"errors"

	"github.com/openagent-go/agent/internal/timeline"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
)

// maxDepth is how deep agents may be within each other.
const maxDepth = 10

// Read applies the facts of a session to a view.
func Read(ctx context.Context, s session.Store, id string, v *view.State) error {
	for e, err := range s.Read(ctx, id, 0) {
		if err != nil {
			return err
		}
		v.Apply(e)
	}
	return nil
}

// Fill reads the sessions of the agents in the view of a session, and those of their agents.
// One that was never begun, or is gone, stays empty.
func Fill(ctx context.Context, s session.Store, id string, v *view.State) error {
	return fill(ctx, s, id, v, 1)
}

func fill(ctx context.Context, s session.Store, id string, v *view.State, depth int) error {
	if len(v.Agents) == 0 || depth > maxDepth {
		return nil
	}
	under := session.Under(s, id)
	seen := map[string]bool{}
	for _, it := range v.Agents {
		a := it.Data.(*view.Agent)
		agent := a.Start.Session
		if seen[agent] || session.CheckID(agent) != nil {
			continue
		}
		seen[agent] = true
		err := Read(ctx, under, agent, a.View)
		if errors.Is(err, session.ErrNotFound) {
			continue
		}
		if err == nil {
			err = fill(ctx, under, agent, a.View, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ReadTimeline applies the facts of a session, and of its agents, that the timeline has not seen.
// An agent that was never begun, or is gone, has none.
func ReadTimeline(ctx context.Context, s session.Store, id string, t *timeline.State) error {
	return readTimeline(ctx, s, id, t, 0)
}

func readTimeline(ctx context.Context, s session.Store, id string, t *timeline.State, depth int) error {
	for e, err := range s.Read(ctx, id, t.Last()) {
		if err != nil {
			return err
		}
		t.Apply(e)
	}
	if depth == maxDepth {
		return nil
	}
	under := session.Under(s, id)
	for _, a := range t.Agents() {
		if session.CheckID(a.Session) != nil {
			continue
		}
		err := readTimeline(ctx, under, a.Session, &a.State, depth+1)
		if err != nil && !errors.Is(err, session.ErrNotFound) {
			return err
		}
	}
	return nil
}
