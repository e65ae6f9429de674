package export

import (
	"context"

	"github.com/openagent-go/agent/internal/agentview"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
)

// fold returns the view of a session, with those of its agents.
func fold(ctx context.Context, s session.Store, id string) (*view.State, error) {
	v := new(view.State)
	if err := agentview.Read(ctx, s, id, v); err != nil {
		return nil, err
	}
	return v, agentview.Fill(ctx, s, id, v)
}
