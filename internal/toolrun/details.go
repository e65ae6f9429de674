package toolrun

import (
	"github.com/openagent-go/agent/internal/toolschema"
	"github.com/openagent-go/agent/tool"
)

// verified checks the result of t against its output schema, unless t has done so.
func verified(t tool.Tool, call *tool.Call, r *tool.Result) *tool.Result {
	if toolschema.IsChecked(t) || r == nil || r.IsError {
		return r
	}
	spec := specOf(t)
	if spec.Output == nil {
		return r
	}
	s, err := toolschema.ForOutput(spec.Output)
	if err != nil {
		return tool.Errorf("the result of %s cannot be checked: %v", call.Name, err)
	}
	fixed, err := s.Promised(call.Name, r.Details)
	if err != nil {
		return tool.Errorf("%v", err)
	}
	if fixed == nil {
		return r
	}
	copied := *r
	copied.Details = fixed
	return &copied
}
