package engine

import (
	"encoding/json"
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
)

// OutputTool is the tool by which a model answers a prompt with a schema, if the provider
// cannot enforce the schema. Only the engine knows it: it does nothing, needs no
// permission, and its result is the verdict about the answer.
const OutputTool = "StructuredOutput"

// An answer is the state of the answer to a prompt with a schema.
type answer struct {
	want        fact.Output
	output      json.RawMessage // accepted
	judged      bool            // the final answer was
	part        string          // the model's last words, of a text of several parts
	corrections int
}

// answersBy reports whether a call is the answer.
func (r *reply) answersBy(u *llm.ToolUse) bool {
	return r.answer != nil && strings.EqualFold(u.Name, OutputTool)
}

// unjudged reports whether the run would end with an answer that was not checked.
func (r *reply) unjudged(end event.EndReason) bool {
	if r.answer == nil || r.answer.judged {
		return false
	}
	switch end {
	case event.Completed, event.ToolEnded, event.MaxTokens:
		return true
	}
	return false
}

// accept makes an answer the output of the run.
func (r *reply) accept(f fact.OutputChecked) {
	a := r.answer
	a.output, a.judged, a.corrections = f.Output, true, 0
	r.text, r.toolText = string(f.Output), string(f.Output)
}

// corrected counts a correction. It reports false if there were enough.
func (a *answer) corrected() bool {
	a.corrections++
	return a.corrections <= a.want.Corrections
}
