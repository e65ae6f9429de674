package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// Pool returns the tools that the model would see in a prompt started now, in
// the order in which it would see them: Tools, then what the Toolsets add; a
// later tool takes the place of an earlier one of the same name.
func (a *Agent) Pool(ctx context.Context) ([]tool.Tool, error) {
	var pool []tool.Tool
	place := map[string]int{}
	add := func(ts []tool.Tool) error {
		for _, t := range ts {
			spec := t.Spec()
			if err := spec.Check(); err != nil {
				return fmt.Errorf("agent: %w: %w", ErrConfig, err)
			}
			if i, ok := place[spec.Name]; ok {
				pool[i] = t
				continue
			}
			place[spec.Name] = len(pool)
			pool = append(pool, t)
		}
		return nil
	}
	if err := add(a.Tools); err != nil {
		return nil, err
	}
	for _, set := range a.Toolsets {
		ts, err := set.Tools(ctx)
		if err != nil {
			return nil, fmt.Errorf("agent: asking a tool set for its tools: %w", err)
		}
		if err := add(ts); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(pool, func(t tool.Tool) bool { return !a.offers(t.Spec().Name) }), nil
}

// offers reports whether the model may see a tool of this name.
func (a *Agent) offers(name string) bool {
	return (len(a.AllowedTools) == 0 || slices.Contains(a.AllowedTools, name)) &&
		!slices.Contains(a.DisallowedTools, name) && !a.Permissions.Hides(name)
}

// specs describes tools to the engine.
func specs(pool []tool.Tool) []event.Tool {
	var out []event.Tool
	for _, t := range pool {
		s := t.Spec()
		input := s.Input
		if input == nil {
			input = []byte(`{"type":"object","properties":{}}`)
		}
		out = append(out, event.Tool{Tool: llm.Tool{Name: s.Name, Description: s.Description, Input: input},
			ReadOnly: s.ReadOnly, Idempotent: s.Idempotent, Barrier: s.Barrier, State: s.State})
	}
	return out
}
