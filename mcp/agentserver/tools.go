// Package agentserver serves agents to clients of the Model Context Protocol: an agent as
// one tool that takes prompts, or the tools of an agent, under its permissions, hooks and
// limits.
//
//	s, err := agentserver.Prompts(a, "Reviews code.", server.Options{Name: "review"})
//	err = s.Serve(ctx, os.Stdin, os.Stdout)
//
// A call that needs a person's permission asks the person at the client (elicitation). It
// is denied if the client takes no such questions.
package agentserver

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/mcpserver"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/mcp/server"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// Tools returns a server of the agent's Tools. Each call is one of [agent.Agent.CallTool],
// with the agent's hooks, rules, mode, policies and callback. State of a tool, such as the
// files that were read, lasts for a client's session.
//
// Tools that work on a run are left out: those that need a person, batches, and
// searches for tools. The agent needs no model.
func Tools(a *agent.Agent, o server.Options) (server.Server, error) {
	if o.Tools != nil {
		return nil, errors.New("serving an agent's tools: Options.Tools must be empty, because the agent provides them")
	}
	b := *a
	for _, t := range a.Tools {
		if servable(t) {
			o.Tools = append(o.Tools, t)
		}
	}
	call := func(ctx context.Context, client *mcpserver.Client, call tool.Call) (*tool.Result, error) {
		one := b
		one.Tools, one.Toolsets, one.AllowedTools, one.DeferredTools = []tool.Tool{kept{client.Tool(), client}}, nil, nil, nil
		one.CanUseTool, one.AskUser = judges(b.CanUseTool, client), client.AskUser
		return one.CallTool(ctx, call.Name, call.Input)
	}
	ended := func(session string) {
		for _, t := range b.Tools {
			if e, ok := t.(interface{ EndSession(session string) error }); ok {
				if err := e.EndSession(session); err != nil && b.Log != nil {
					b.Log.Warn("the session of an MCP client did not end well", "error", err)
				}
			}
		}
	}
	return open(o, mcpserver.Callbacks{Call: call, Ended: ended})
}

// open makes a server whose calls the agent carries out.
func open(o server.Options, c mcpserver.Callbacks) (server.Server, error) {
	s, err := mcpserver.New(mcpserver.Options(o), c)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func servable(t tool.Tool) bool {
	_, search := t.(interface{ Over([]tool.Spec) tool.Tool })
	s := t.Spec()
	return !search && !s.NeedsPerson && !s.Batch
}

// judges asks the agent's own callback first. If that does not decide, it asks the user of
// the client.
func judges(own agent.CanUseToolFunc, client *mcpserver.Client) agent.CanUseToolFunc {
	if own == nil {
		return client.CanUseTool
	}
	return func(ctx context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error) {
		d, err := own(ctx, call, verdict)
		if err != nil || d.Behavior != permission.NoOpinion {
			return d, err
		}
		return client.CanUseTool(ctx, call, verdict)
	}
}

// kept wraps a tool: its state is that of a client's session, since each call is its own
// run.
type kept struct {
	inner  tool.Tool
	client *mcpserver.Client
}

func (k kept) call(c tool.Call) tool.Call {
	c.Session, c.State = k.client.Session(), k.client.State(k.inner.Spec().State)
	return c
}

func (k kept) Spec() tool.Spec {
	s := k.inner.Spec()
	s.State, s.Replaces, s.Deferred = "", nil, false
	return s
}

func (k kept) Run(ctx context.Context, c tool.Call) (*tool.Result, error) {
	t := k.inner
	if f, ok := t.(toolrun.Factory); ok {
		t = f.Make()
	}
	r, err := t.Run(ctx, k.call(c))
	if r != nil {
		k.client.Keep(k.inner.Spec().State, r.Patch.State)
		own := *r
		own.Patch = tool.Patch{Happened: r.Patch.Happened} // there is no run to change
		r = &own
	}
	return r, err
}

func (k kept) Classify(c tool.Call) tool.Traits { return toolrun.Classify(k.inner, k.call(c)) }

func (k kept) Validate(c tool.Call) error {
	if v, ok := k.inner.(toolrun.Validator); ok {
		return v.Validate(k.call(c))
	}
	return nil
}

func (k kept) Repair(c tool.Call) json.RawMessage {
	if v, ok := k.inner.(toolrun.Repairer); ok {
		return v.Repair(k.call(c))
	}
	return c.Input
}

func (k kept) Preview(c tool.Call) string {
	if p, ok := k.inner.(tool.Previewer); ok {
		return p.Preview(k.call(c))
	}
	return ""
}
