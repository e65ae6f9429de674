package engine_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
)

// A hook changes the calls of a batch about which a person is asked: the new calls are the ones
// that are judged, once the batch is permitted.
func TestChangedBatch(t *testing.T) {
	w := &world{t: t, wanted: map[string]bool{}}
	w.do([]string{"config"})
	w.do([]string{"prompt", "p1", "go"})
	w.do([]string{"start"})
	w.answer(llm.UseTools, llm.ToolUse{ID: "t0", Name: "Batch", Input: json.RawMessage(`{"tool_calls":[{"tool":"Read"}]}`)})
	batch := "c4.0"
	w.happen(fact.Authorized{Key: w.key("authorize", batch), Call: batch, Decision: permission.Decision{Behavior: permission.Asked,
		Input: json.RawMessage(`{"tool_calls":[{"tool":"Write"},{"tool":"Put"}]}`)}})
	w.happen(fact.Answered{Key: w.key("ask", batch), Call: batch, Decision: permission.Decision{Behavior: permission.Allowed}})
	var judged []string
	for _, e := range w.state.Effects() {
		if a, ok := e.(engine.Authorize); ok {
			judged = append(judged, a.Call)
		}
	}
	if !slices.Equal(judged, []string{batch + ".1", batch + ".2"}) {
		t.Errorf("the calls that are judged are %q", judged)
	}
}
