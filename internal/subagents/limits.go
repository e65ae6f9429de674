package subagents

import (
	"time"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
)

// Least is the smaller of two limits, of which 0 is none.
func Least[T int | float64 | time.Duration](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Reserve adds to the start of a piece of work what it reserves of the parent's budget, and
// bounds the agent's own limits by that. Work that begun already keeps what it had. over:
// its end is on record. ok is false where nothing is left for it.
func Reserve(state *engine.State, now time.Time, start *event.AgentStart, own *event.Limits) (begun, over, ok bool) {
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
		if start.Background && !state.Config().Awaits { // what the parent waits for ends with it
			own.Time = Least(own.Time, share.Time)
		}
	} else {
		for _, at := range state.Agents().AtWork() {
			if at.Key == start.Key {
				start.ReservedUSD, start.ModelCalls, start.Turns = at.ReservedUSD, at.ModelCalls, at.Turns
			}
		}
		if !over && Spent(state.Config().Limits, *start) { // a new budget has left it nothing
			return true, false, false
		}
	}
	own.OwnTurns = own.Turns // they limit the agent alone, the share all below it
	own.USD, own.ModelCalls, own.Turns = start.ReservedUSD, start.ModelCalls, start.Turns
	return begun, over, true
}

// Spent reports whether limits leave nothing of its share to an agent at work.
func Spent(l event.Limits, at event.AgentStart) bool {
	return l.USD > 0 && at.ReservedUSD <= 0 || l.ModelCalls > 0 && at.ModelCalls <= 0 || l.Turns > 0 && at.Turns <= 0
}
