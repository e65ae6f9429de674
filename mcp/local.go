package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/tool"
)

// direct returns the tools of a server within this program. They are called
// directly: nothing is encoded, and no process or protocol is between.
func (s *server) direct() []tool.Tool {
	tools := s.config.Tools
	raw := make([]string, len(tools))
	for i, t := range tools {
		raw[i] = t.Spec().Name
	}
	out := make([]tool.Tool, 0, len(tools))
	for i, name := range names(s.name, raw) {
		out = append(out, s.rename(tools[i], name, s.config.AlwaysLoad))
	}
	return out
}

// rename returns a tool under the name that the model sees.
func (s *server) rename(t tool.Tool, name string, always bool) tool.Tool {
	spec := t.Spec()
	r := aliasedTool{server: s, inner: t, own: spec.Name}
	spec.Name, spec.Aliases, spec.Replaces, spec.AlwaysLoad = name, nil, nil, spec.AlwaysLoad || always
	r.spec = spec
	if f, ok := t.(toolrun.Factory); ok {
		return renamedFactory{r, f}
	}
	return r
}

// gone returns why a server within this program is no longer there, nil if it is.
func (s *server) gone() error {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	switch {
	case s.state == mcpnames.Connected:
		return nil
	case s.err != nil:
		return s.err
	}
	return fmt.Errorf("it is %s", s.state)
}

// aliasedTool has the other abilities of a tool as well.
type aliasedTool struct {
	server *server
	inner  tool.Tool
	own    string // its name within the server
	spec   tool.Spec
}

func (r aliasedTool) Spec() tool.Spec { return r.spec }

func (r aliasedTool) Run(ctx context.Context, call tool.Call) (*tool.Result, error) {
	if err := r.server.gone(); err != nil {
		return r.server.unreachable(ctx, err)
	}
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
	return f.server.rename(f.factory.Make(), f.spec.Name, f.spec.AlwaysLoad)
}
