package sim

import (
	"context"
	"errors"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/tool"
)

// delegateTool lets an agent do a part of the work: in front of the call, or in the background.
func (w *world) delegateTool(l *life, name string, background bool) tool.Tool {
	return w.newTool(l, class{spec: tool.Spec{Name: name, Idempotent: true, Timeout: -1}, delegates: true,
		behave: func(ctx context.Context, w *world, call tool.Call, in work) (*tool.Result, error) {
			p, ok := agent.ParentOf(ctx)
			if !ok {
				return nil, errors.New("the call has no run")
			}
			child := agent.Child{Agent: &agent.Agent{Name: "helper"}, Call: call.ID, Input: agent.Input{Text: prompts + in.Tag}}
			if background {
				w.meet("background agent")
				id, err := p.Start(ctx, child, nil)
				return tool.Text(id), err
			}
			w.meet("sub-agent")
			res, err := p.Run(ctx, child)
			if res == nil {
				return nil, err
			}
			return tool.Text("the agent says " + res.Text), nil
		}})
}

func subagentCall(g *gen, depth int, name string) Call {
	if depth >= 2 {
		return g.plainCall()
	}
	c := g.plainCall()
	turns := g.turns(depth + 1)
	if g.one(2) {
		turns = append(turns, Turn{Calls: []Call{{Tool: "hanglook", Target: "x"}}})
	}
	return Call{Tool: name, Target: c.Target, Turns: turns}
}

// StopAgents stops the agents of all sessions that work.
type StopAgents struct{}

func (o StopAgents) run(w *world) {
	for _, h := range w.handles {
		if h.open == nil {
			continue
		}
		for _, a := range h.open.Children() {
			w.note("agent stopped", h.open.StopAgent(a.Session))
		}
	}
}
