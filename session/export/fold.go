package export

import (
	"context"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/agentview"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
)

// fold returns the view of a session, with those of its agents. It applies the facts that count:
// a view would fold all of them again at each rewind.
func fold(ctx context.Context, s session.Store, id string) (*view.State, error) {
	var facts []event.Event
	for e, err := range s.Read(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		facts = append(facts, e)
	}
	counts := make([]bool, len(facts))
	for seq := int64(len(facts)); seq > 0 && seq <= int64(len(facts)) && !counts[seq-1]; seq = facts[seq-1].Prev {
		counts[seq-1] = true
	}
	v := new(view.State)
	for i, e := range facts {
		if counts[i] {
			v.Apply(e)
		}
	}
	return v, agentview.Fill(ctx, s, id, v)
}
