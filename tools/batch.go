package tools

import (
	"context"
	_ "embed"
	"encoding/json"

	"github.com/openagent-go/agent/tool"
)

//go:embed batch.md
var batchText string

type batchInput struct {
	Calls []batchedCall `json:"tool_calls" jsonschema:"at most 25"`
}

type batchedCall struct {
	Tool       string          `json:"tool"`
	Parameters json.RawMessage `json:"parameters" jsonschema:"the tool's input"`
}

// Batch returns the tool that makes several calls at once, see [tool.Spec]. The driver of
// the agent makes them; Run only returns an error.
func Batch() tool.Tool {
	return tool.New(tool.Spec{Name: "Batch", Title: "Several calls", Description: batchText, Batch: true},
		func(context.Context, tool.Call, batchInput) (*tool.Result, error) {
			return tool.Errorf("the calls of a batch are made by the agent, not by the tool"), nil
		}).OnClassify(func(tool.Call, batchInput) tool.Traits { return tool.Traits{Internal: true} }) // its calls are judged
}
