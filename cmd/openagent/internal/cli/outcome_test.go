package cli

import (
	"context"
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
)

// The table of exit codes is a promise to scripts.
func TestOutcomes(t *testing.T) {
	running := context.Background()
	ended := func(s *signalError) context.Context {
		ctx, cancel := context.WithCancelCause(running)
		cancel(s)
		return ctx
	}
	missed := []event.Denial{{Tool: "Write"}, {Tool: "Bash", Nobody: true}}
	for _, c := range []struct {
		name    string
		ctx     context.Context
		end     event.RunEnd
		subtype string
		code    int
	}{
		{"completed", running, event.RunEnd{Reason: event.Completed}, "success", 0},
		{"refused by a rule", running, event.RunEnd{Reason: event.Completed, Denials: missed[:1]}, "success", 0},
		{"nobody could be asked", running, event.RunEnd{Reason: event.Completed, Denials: missed}, "success", 5},
		{"ended by a tool", running, event.RunEnd{Reason: event.ToolEnded}, "success", 0},
		{"ended by a tool, nobody there", running, event.RunEnd{Reason: event.ToolEnded, Denials: missed}, "success", 5},
		{"cut off", running, event.RunEnd{Reason: event.MaxTokens}, "success", 0},
		{"turns", running, event.RunEnd{Reason: event.MaxTurns}, "error_max_turns", 6},
		{"turns, nobody there", running, event.RunEnd{Reason: event.MaxTurns, Denials: missed}, "error_max_turns", 6},
		{"model calls", running, event.RunEnd{Reason: event.MaxModelCalls}, "error_max_model_calls", 6},
		{"money", running, event.RunEnd{Reason: event.MaxBudget}, "error_max_budget_usd", 6},
		{"time", running, event.RunEnd{Reason: event.TimedOut}, "error_during_execution", 6},
		{"context", running, event.RunEnd{Reason: event.ContextOverflow, Status: 400}, "error_during_execution", 6},
		{"doom loop", running, event.RunEnd{Reason: event.DoomLoop}, "error_during_execution", 6},
		{"hook", running, event.RunEnd{Reason: event.HookStopped}, "error_during_execution", 8},
		{"model", running, event.RunEnd{Reason: event.ModelError, Status: 500}, "error_during_execution", 3},
		{"network", running, event.RunEnd{Reason: event.ModelError}, "error_during_execution", 3},
		{"bad request", running, event.RunEnd{Reason: event.ModelError, Status: 400}, "error_during_execution", 3},
		{"no such model", running, event.RunEnd{Reason: event.ModelError, Status: 404}, "error_during_execution", 3},
		{"key", running, event.RunEnd{Reason: event.ModelError, Status: 401, Class: llm.Auth}, "error_during_execution", 4},
		{"forbidden", running, event.RunEnd{Reason: event.ModelError, Status: 403}, "error_during_execution", 4},
		{"refused", running, event.RunEnd{Reason: event.Refused}, "error_during_execution", 3},
		{"interrupted by a control message", running, event.RunEnd{Reason: event.Interrupted}, "cancelled", 130},
		{"SIGINT", ended(Interruption), event.RunEnd{Reason: event.Interrupted}, "cancelled", 130},
		{"SIGTERM", ended(termination), event.RunEnd{Reason: event.Interrupted}, "cancelled", 143},
		{"SIGHUP", ended(hangup), event.RunEnd{Reason: event.Interrupted}, "cancelled", 143},
		{"inside", running, event.RunEnd{Reason: event.Internal}, "error_during_execution", 1},
		{"unheard of", running, event.RunEnd{Reason: "new"}, "error_during_execution", 1},
	} {
		if o := OutcomeOf(c.ctx, c.end); o.Subtype != c.subtype || o.Code != c.code {
			t.Errorf("%s: %+v, want %s and %d", c.name, o, c.subtype, c.code)
		}
	}
}
