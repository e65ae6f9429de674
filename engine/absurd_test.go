package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
)

// A journal may say of costs what it likes: the end of a run can be written.
func TestAbsurdCosts(t *testing.T) {
	for _, usd := range []float64{1e308, -1e308} {
		var s engine.State
		seq := int64(0)
		apply := func(f event.Fact) {
			seq++
			s.Apply(event.Event{Seq: seq, Prev: seq - 1, Time: epoch, Data: f})
		}
		apply(event.Configured{Model: "m"})
		apply(event.UserMessage{ID: "u", Delivery: event.AsPrompt, Message: llm.UserText("go")})
		for _, key := range []string{"a", "b"} {
			apply(event.AgentStart{Key: key, Agent: "helper"})
			apply(event.AgentEnd{Key: key, Agent: "helper", CostUSD: new(usd), LostUSD: usd, Models: map[string]event.Spending{"m": {Usage: llm.Usage{Input: 1}, CostUSD: new(usd)}}})
		}
		start := s.Effects()[0].(engine.CallModel)
		apply(event.ModelStart{Key: start.Key(), Model: "m", ReservedUSD: usd})
		end, open := s.SoFar()
		if _, err := json.Marshal(end); !open || err != nil || end.CostUSD == nil || *end.CostUSD*usd <= 0 {
			t.Errorf("%v: open %v, %v: %+v", usd, open, err, end)
		}
	}
}
