package engine_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
)

// applier returns what applies facts to a state, one after the other.
func applier(s *engine.State) func(event.Fact) {
	seq := int64(0)
	return func(f event.Fact) {
		seq++
		s.Apply(event.Event{Seq: seq, Prev: seq - 1, Time: epoch, Data: f})
	}
}

// A run can record its end even if the journal holds impossible costs.
func TestAbsurdCosts(t *testing.T) {
	for _, usd := range []float64{1e308, -1e308} {
		var s engine.State
		apply := applier(&s)
		apply(fact.Configured{Model: "m"})
		apply(event.UserMessage{ID: "u", Delivery: fact.AsPrompt, Message: llm.UserText("go")})
		for _, key := range []string{"a", "b"} {
			apply(event.AgentStart{Key: key, Agent: "helper"})
			apply(event.AgentEnd{Key: key, Agent: "helper", CostUSD: new(usd), LostUSD: usd, Models: map[string]event.Spending{"m": {Usage: llm.Usage{Input: 1}, CostUSD: new(usd)}}})
		}
		start := s.Effects()[0].(engine.CallModel)
		apply(fact.ModelStart{Key: start.Key(), Model: "m", ReservedUSD: usd})
		end, open := s.SoFar()
		if _, err := json.Marshal(end); !open || err != nil || end.CostUSD == nil || *end.CostUSD*usd <= 0 {
			t.Errorf("%v: open %v, %v: %+v", usd, open, err, end)
		}
	}
}

// Nor do reservations, prices and limits of a journal keep later facts from being written.
func TestAbsurdReservations(t *testing.T) {
	for _, usd := range []float64{1e308, -1e308} {
		for _, limit := range []float64{1, 1e308} {
			var s engine.State
			apply := applier(&s)
			price := &llm.Price{Input: usd, Output: usd, CacheWrite: usd, LongAt: 1, LongInput: 1e300, LongOutput: 1e300}
			apply(fact.Configured{Model: "m", MaxTokens: 1000, Limits: fact.Limits{USD: limit}, Models: map[string]llm.Info{"m": {Price: price}}})
			apply(event.UserMessage{ID: "u", Delivery: fact.AsPrompt, Message: llm.UserText(strings.Repeat("go ", 100))})
			for _, key := range []string{"a", "b"} {
				apply(event.AgentStart{Key: key, Agent: "helper", ReservedUSD: usd})
			}
			limits, _ := s.Share("c", time.Time{})
			share := limits.USD
			written := []any{share}
			for _, e := range s.Effects() {
				written = append(written, e.Intent())
			}
			apply(fact.BudgetChanged{Limits: fact.Limits{USD: 1}})
			for _, a := range s.Agents().AtWork() {
				written = append(written, a)
			}
			for _, v := range written {
				if _, err := json.Marshal(v); err != nil {
					t.Errorf("%v with a limit of %v: %v: %+v", usd, limit, err, v)
				}
			}
		}
	}
}
