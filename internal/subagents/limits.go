package subagents

import (
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
)

// Least returns the smaller of two limits. 0 means no limit.
func Least[T int | float64 | time.Duration](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Reserve reserves a share of the parent's budget for a task: it stores the share in start.
// It limits the agent's own limits to the share. A task that has already begun keeps its
// share. over: the task's end is on record. ok is false if the budget has nothing left.
func Reserve(state *engine.State, now time.Time, start *event.AgentStart, own *fact.Limits) (begun, over, ok bool) {
	begun, over = state.Agents().Worked(start.Key)
	if !begun {
		share, left := state.Share(start.Call, now)
		if !left {
			return false, false, false
		}
		start.ReservedUSD, start.ModelCalls = Least(own.USD, share.USD), Least(own.ModelCalls, share.ModelCalls)
		if share.Turns > 0 {
			start.Turns = Least(own.Turns, share.Turns)
		}
		if start.Background && !state.Config().Awaits { // an agent that the parent waits for ends with it
			own.Time = Least(own.Time, share.Time)
		}
	} else {
		for _, at := range state.Agents().AtWork() {
			if at.Key == start.Key {
				start.ReservedUSD, start.ModelCalls, start.Turns = at.ReservedUSD, at.ModelCalls, at.Turns
			}
		}
		if !over && Spent(state.Config().Limits, *start) { // a new budget leaves it nothing
			return true, false, false
		}
	}
	own.OwnTurns = own.Turns // its own limit counts only its turns; the share includes its children's
	own.USD, own.ModelCalls, own.Turns = start.ReservedUSD, start.ModelCalls, start.Turns
	return begun, over, true
}

// Spent reports whether limits leave nothing of its share to a working agent.
func Spent(l fact.Limits, at event.AgentStart) bool {
	return l.USD > 0 && at.ReservedUSD <= 0 || l.ModelCalls > 0 && at.ModelCalls <= 0 || l.Turns > 0 && at.Turns <= 0
}
