package mcp

import (
	"context"
	"encoding/json"

	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/tool"
)

// local returns the tools of a server within this program. They are called
// directly: nothing is encoded, and no process or protocol is between.
func local(server string, tools []tool.Tool, always bool) []tool.Tool {
	raw := make([]string, len(tools))
	for i, t := range tools {
		raw[i] = t.Spec().Name
	}
	out := make([]tool.Tool, 0, len(tools))
	for i, name := range names(server, raw) {
		out = append(out, rename(tools[i], name, always))
	}
	return out
}

// rename returns a tool under the name that the model sees.
func rename(t tool.Tool, name string, always bool) tool.Tool {
	spec := t.Spec()
	r := aliasedTool{inner: t, own: spec.Name}
	spec.Name, spec.Aliases, spec.Replaces, spec.AlwaysLoad = name, nil, nil, spec.AlwaysLoad || always
	r.spec = spec
	if f, ok := t.(toolrun.Factory); ok {
		return renamedFactory{r, f}
	}
	return r
}

// aliasedTool has the other abilities of a tool as well.
type aliasedTool struct {
	inner tool.Tool
	own   string // its name within the server
	spec  tool.Spec
}

func (r aliasedTool) Spec() tool.Spec { return r.spec }

func (r aliasedTool) Run(ctx context.Context, call tool.Call) (*tool.Result, error) {
	call.Name = r.own
	return r.inner.Run(ctx, call)
}

func (r aliasedTool) Classify(call tool.Call) tool.Traits {
	call.Name = r.own
	return toolrun.Classify(r.inner, call)
}

func (r aliasedTool) Validate(call tool.Call) error {
	if v, ok := r.inner.(toolrun.Validator); ok {
		call.Name = r.own
		return v.Validate(call)
	}
	return nil
}

func (r aliasedTool) Repair(call tool.Call) json.RawMessage {
	if v, ok := r.inner.(toolrun.Repairer); ok {
		call.Name = r.own
		return v.Repair(call)
	}
	return call.Input
}

func (r aliasedTool) Preview(call tool.Call) string {
	if p, ok := r.inner.(tool.Previewer); ok {
		call.Name = r.own
		return p.Preview(call)
	}
	return ""
}

func (r aliasedTool) TakesPartial() bool {
	p, ok := r.inner.(toolrun.Partial)
	return ok && p.TakesPartial()
}

func (r aliasedTool) Partial(ctx context.Context, input json.RawMessage) {
	if p, ok := r.inner.(toolrun.Partial); ok {
		p.Partial(ctx, input)
	}
}

type renamedFactory struct {
	aliasedTool
	factory toolrun.Factory
}

func (f renamedFactory) Make() tool.Tool {
	return rename(f.factory.Make(), f.spec.Name, f.spec.AlwaysLoad)
}
