package toolrun

import (
	"context"
	"encoding/json"

	"github.com/openagent-go/agent/tool"
)

// Methods that a tool may have beside those of tool.Tool, whose comment describes them.
type (
	// A Factory makes a new tool for each call.
	Factory interface{ Make() tool.Tool }
	// A Partial receives its input while the model is writing it.
	Partial interface {
		TakesPartial() bool
		Partial(ctx context.Context, input json.RawMessage)
	}
	// An Aliased tool has further names by which models call it. Rules do not know them.
	Aliased interface{ CallNames() []string }
	// A Validator knows whether it can read the input of a call.
	Validator interface{ Validate(call tool.Call) error }
	// A Repairer may use another input than the one of the call.
	Repairer interface {
		Repair(call tool.Call) json.RawMessage
	}
)

// Methods that a tool.Set may have, whose comment describes them.
type (
	// An Instructor has instructions for models about its tools.
	Instructor interface{ Instructions() string }
	// A Versioned reports changes.
	Versioned interface{ Version() uint64 }
)
