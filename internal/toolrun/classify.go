package toolrun

import (
	"bytes"
	"encoding/json"

	"github.com/openagent-go/agent/internal/toolschema"
	"github.com/openagent-go/agent/tool"
)

// Classify asks t about a call. For a plain Tool the traits come from its Spec. A call that
// needs approval, see [Approval], has a ConfirmReason.
func Classify(t tool.Tool, call tool.Call) tool.Traits {
	var traits tool.Traits
	if c, ok := t.(tool.Classifier); ok {
		traits = c.Classify(call)
	} else {
		traits.ReadOnly = t.Spec().ReadOnly
	}
	if traits.ConfirmReason == "" {
		traits.ConfirmReason = Approval(t, call)
	}
	return traits
}

// Approval returns why the author of a tool wants a person to approve a call, "" if nobody
// needs to: the answer of [tool.Spec].NeedsApproval to the input that the tool will use. If the
// tool panics, the call needs approval.
func Approval(t tool.Tool, call tool.Call) (reason string) {
	defer func() {
		if recover() != nil {
			reason = "the tool failed when it was asked whether the call needs approval"
		}
	}()
	needs := t.Spec().NeedsApproval
	if needs == nil {
		return ""
	}
	if r, ok := t.(Repairer); ok {
		call.Input = r.Repair(call)
	}
	if len(bytes.TrimSpace(call.Input)) == 0 { // as tools read it
		call.Input = json.RawMessage("{}")
	}
	return needs(call)
}

// Check is [tool.Spec.Check] for a tool; one made by [tool.New] has passed it already.
func Check(t tool.Tool) error {
	if toolschema.IsChecked(t) {
		return nil
	}
	return t.Spec().Check()
}
