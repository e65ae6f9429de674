package agent_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
)

// A schema that would check an answer without end is refused before the model is asked.
func TestOutputEndless(t *testing.T) {
	m := llmtest.Script()
	a := &agent.Agent{Model: m}
	_, err := a.Do(t.Context(), agent.Input{Text: "go", Output: json.RawMessage(`{"type":"object","$ref":"#"}`)})
	if !errors.Is(err, agent.ErrConfig) || !strings.Contains(err.Error(), "the schema refers to itself at root") {
		t.Error(err)
	}
}
