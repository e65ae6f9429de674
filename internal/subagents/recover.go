package subagents

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// Abandoned makes the facts of the ends of agents that worked when the program died: for a
// new prompt of all, else of those that no call goes on with. working reports whether a
// piece of work goes on in this program. last is [LastResult].
func Abandoned(state *engine.State, prompt bool, working func(key string) bool, last func(event.AgentStart) (end event.AgentEnd, text, dir string)) []event.Fact {
	var facts []event.Fact
	for _, at := range state.Agents().AtWork() {
		if !prompt && (Waits(state, at.Key) || !at.Background && state.Call(at.Call).Open) || working(at.Key) {
			continue // it goes on
		}
		end, text, dir := last(at)
		if dir != "" && dir != state.Dir() {
			text = strings.TrimSpace(text + "\n\nIt worked in " + dir + ": what it has changed is there.")
		}
		told := at.Background || prompt && dir != "" // the call's result says nothing of what the agent has done
		if n := Notice(at.Key, at.Agent, end, text); told && !state.Known(n.ID) {
			facts = append(facts, n)
		}
		facts = append(facts, end) // last: without it all is done again
	}
	return facts
}

// Waits reports whether an agent waits for a decision that was deferred.
func Waits(state *engine.State, key string) bool {
	return slices.ContainsFunc(state.Agents().Waiting(), func(w event.AgentStart) bool { return w.Key == key })
}

// Notice is what the parent's model is told of work in the background that has ended.
func Notice(key, name string, end event.AgentEnd, text string) event.UserMessage {
	var b strings.Builder
	fmt.Fprintf(&b, "[agent] %s (agent id: %s) is done: %s", name, end.Session, end.Reason)
	if end.Message != "" {
		fmt.Fprintf(&b, ": %s", end.Message)
	}
	if text = strings.TrimSpace(text); text != "" {
		b.WriteString("\n" + text)
	}
	return event.UserMessage{ID: "agent:" + key, Delivery: event.AsNotice, Message: llm.UserText(b.String())}
}

// cutShort is what the model is told of an agent that died with its program.
const cutShort = "the program was cut short while it worked; it goes on when it is resumed by its id"

// A Reader reads the facts of sessions.
type Reader interface {
	Read(ctx context.Context, session string, after int64) iter.Seq2[event.Event, error]
}

// LastResult reads what a child's work came to, from its own session, and where it worked;
// without a key, what its last work did.
func LastResult(ctx context.Context, store Reader, at event.AgentStart) (end event.AgentEnd, text, dir string) {
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
