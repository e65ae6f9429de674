package tools

import (
	"context"
	_ "embed"
	"strings"

	"github.com/openagent-go/agent/tool"
)

//go:embed completion.md
var completionText string

type completionInput struct {
	Result string `json:"result" jsonschema:"the whole answer"`
}

// newAttemptCompletion returns the tool with which a model ends its run, for models
// that are used to say so. The answer of the run is the tool's result, as it is.
func newAttemptCompletion() tool.Tool {
	return tool.New(tool.Spec{
		Name: "attempt_completion", Title: "Finish", Description: completionText, ReadOnly: true, NonDestructive: true, Idempotent: true,
	}, func(_ context.Context, _ tool.Call, in completionInput) (*tool.Result, error) {
		if strings.TrimSpace(in.Result) == "" {
			return tool.Errorf("result is empty; it is the answer that the person gets"), nil
		}
		r := tool.Text(in.Result)
		r.Title = "Finished"
		r.Truncated = true // the model's own words, bounded by its answer
		r.Patch.EndRun = true
		return r, nil
	})
}
