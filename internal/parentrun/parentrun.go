// Package parentrun finds the run that a tool call belongs to, with everything that package
// subagent needs to run sub-agents in it. Programs use agent.ParentOf.
package parentrun

import (
	"context"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/driver"
	"github.com/openagent-go/agent/internal/subagents"
)

// A Run can start sub-agents.
type Run = subagents.ParentRun[*agent.Agent, agent.Input, *agent.Result]

// A Child is a sub-agent and its task.
type Child = subagents.Child[*agent.Agent, agent.Input]

// ErrStopped is matched by the end of a sub-agent that somebody stopped.
var ErrStopped = subagents.ErrStopped

// Of returns the run of a tool call, from the context that the tool got. ok is false for
// any other context.
func Of(ctx context.Context) (r Run, ok bool) {
	host, ok := driver.HostOf(ctx).(interface{ ParentRun() Run })
	if !ok {
		return nil, false
	}
	return host.ParentRun(), true
}
