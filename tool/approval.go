package tool

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolschema"
)

const (
	noReason  = "the tool asks for approval"
	maxReason = 200 // bytes of a reason that is written in a schema
)

// AskAlways returns a [Spec].NeedsApproval for tools whose every call needs approval.
// reason is for the person who is asked.
func AskAlways(reason string) func(Call) string {
	reason = cmp.Or(reason, noReason)
	return func(Call) string { return reason }
}

// AskIf returns a [Spec].NeedsApproval that depends on the input. fn returns why a call
// with this input needs approval, "" if it needs none. A call whose input does not fit In
// needs approval.
//
//	NeedsApproval: tool.AskIf(func(in Refund) string {
//		if in.Amount > 100 {
//			return "the refund is more than $100"
//		}
//		return ""
//	}),
func AskIf[In any](fn func(in In) string) func(Call) string {
	return func(call Call) string {
		var in In
		if err := json.Unmarshal(call.Input, &in); err != nil {
			return "its input cannot be read: " + err.Error()
		}
		return fn(in)
	}
}

// AskMatching returns a [Spec].NeedsApproval for calls whose input satisfies a JSON Schema,
// for tools that are described in JSON. The schema true is for every call, false for none.
// The reason for the person is the schema's description, if it has one.
func AskMatching(schema json.RawMessage) (func(Call) string, error) {
	resolved, err := toolschema.ResolveJSON(schema)
	if err != nil {
		return nil, err
	}
	reason := cmp.Or(text.Bytes(text.OneLine(text.Clean(resolved.Description())), maxReason), noReason)
	return func(call Call) string {
		var input any
		if err := json.Unmarshal(call.Input, &input); err != nil {
			return "its input cannot be read: " + err.Error()
		}
		switch err := resolved.Validate(input); {
		case errors.Is(err, toolschema.ErrUnchecked):
			return "its input: " + err.Error()
		case err != nil:
			return ""
		}
		return reason
	}, nil
}
