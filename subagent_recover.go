package agent

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// recoverAbandoned makes the facts of the ends of agents that worked when the program died:
// for a new prompt of all, else of those that no call goes on with.
func (s *Session) recoverAbandoned(ctx context.Context, prompt bool) []event.Fact {
	var facts []event.Fact
	for _, at := range s.fold.State.Agents().AtWork() {
		if !prompt && slices.ContainsFunc(s.fold.State.Agents().Waiting(), func(w event.AgentStart) bool { return w.Key == at.Key }) {
			continue // it goes on
		}
		if s.settings().agents.has(at.Key) || !prompt && !at.Background && s.fold.State.Call(at.Call).Open {
			continue
		}
		end, text, dir := lastResult(ctx, s.childStore(s.store()), at)
		if dir != "" && dir != s.fold.State.Dir() {
			text = strings.TrimSpace(text + "\n\nIt worked in " + dir + ": what it has changed is there.")
		}
		w := &subagentTask{key: at.Key, name: at.Agent}
		told := at.Background || prompt && dir != "" // the call's result says nothing of what the agent has done
		if n := w.notice(end, text); told && !s.fold.State.Known(n.ID) {
			facts = append(facts, n.message(event.AsNotice))
		}
		facts = append(facts, end) // last: without it all is done again
	}
	return facts
}

// cutShort is what the model is told of an agent that died with its program.
const cutShort = "the program was cut short while it worked; it goes on when it is resumed by its id"

// lastResult reads what a child's work came to, from its own session, and where it worked;
// without a key, what its last work did.
func lastResult(ctx context.Context, store session.Store, at event.AgentStart) (end event.AgentEnd, text, dir string) {
	end = event.AgentEnd{Key: at.Key, Session: at.Session, Agent: at.Agent, Reason: event.Internal, Message: cutShort}
	var state engine.State
	var last *event.RunEnd
	mine := false
	for e, err := range store.Read(ctx, at.Session, 0) {
		if errors.Is(err, session.ErrNotFound) { // it had not begun
			end.Reason, end.CostUSD = event.Interrupted, new(float64)
			return end, "", ""
		}
		if err != nil {
			end.Message = err.Error()
			return end, "", ""
		}
		state.Apply(e)
		switch f := e.Data.(type) {
		case event.UserMessage:
			if mine = mine || f.ID == at.Key || at.Key == ""; at.Key == "" && f.Delivery == event.AsPrompt {
				last = nil
			}
		case event.RunEnd:
			if mine && last == nil {
				last = &f
			}
		}
	}
	if last == nil && mine {
		if soFar, open := state.SoFar(); open {
			soFar.Reason, soFar.Message = event.Interrupted, cutShort
			last = &soFar
		}
	}
	if last == nil {
		end.Reason, end.CostUSD = event.Interrupted, new(float64)
		return end, "", state.Dir()
	}
	end.Reason, end.Message = last.Reason, last.Message
	end.Turns, end.AgentTurns, end.ModelCalls, end.Usage, end.CostUSD, end.LostUSD = last.Turns, last.AgentTurns, last.ModelCalls, last.Usage, last.CostUSD, last.LostUSD
	end.Models, end.Duration = last.Models, last.Duration
	return end, last.Text, state.Dir()
}
