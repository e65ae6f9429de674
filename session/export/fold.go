package export

import (
	"context"
	"errors"

	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
)

// maxDepth is how deep agents may be within each other.
const maxDepth = 10

// fold returns the view of a session, with those of its agents.
func fold(ctx context.Context, s session.Store, id string) (*view.State, error) {
	v := new(view.State)
	if err := read(ctx, s, id, v); err != nil {
		return nil, err
	}
	return v, agents(ctx, session.Under(s, id), v, 1)
}

func read(ctx context.Context, s session.Store, id string, v *view.State) error {
	for e, err := range s.Read(ctx, id, 0) {
		if err != nil {
			return err
		}
		v.Apply(e)
	}
	return nil
}

// agents reads the sessions of the agents of a view. One that was never begun, or is gone, stays
// empty.
func agents(ctx context.Context, s session.Store, v *view.State, depth int) error {
	seen := map[string]bool{}
	for _, it := range v.Agents {
		a := it.Data.(*view.Agent)
		id := a.Start.Session
		if seen[id] || depth > maxDepth || session.CheckID(id) != nil {
			continue
		}
		seen[id] = true
		err := read(ctx, s, id, a.View)
		if errors.Is(err, session.ErrNotFound) {
			continue
		}
		if err == nil {
			err = agents(ctx, session.Under(s, id), a.View, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
