package subagents

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// Abandoned returns the end facts of agents that were working when the program died, with
// notices. On a new prompt it ends all of them. On a resumption it ends only those that no
// repeated call continues. working reports whether a task is running in this program. last
// is [LastResult].
func Abandoned(state *engine.State, prompt bool, working func(key string) bool, last func(event.AgentStart) (end event.AgentEnd, text, dir string)) []event.Fact {
	var facts []event.Fact
	for _, at := range state.Agents().AtWork() {
		continues := working(at.Key)
		if prompt {
			continues = continues && !state.Agents().Waits(at.Key) // one that waits is about to leave
		} else {
			continues = continues || Waits(state, at.Key) || !at.Background && state.Call(at.Call).Open
		}
		if continues {
			continue
		}
		end, text, dir := last(at)
		if dir != "" && dir != state.Dir() {
			text = strings.TrimSpace(text + "\n\nIt worked in " + dir + ": what it has changed is there.")
		}
		told := at.Background || prompt && dir != "" // the call's result does not report the agent's work
		if n := Notice(at.Key, at.Agent, end, text); told && !state.Known(n.ID) {
			facts = append(facts, n)
		}
		facts = append(facts, end) // last: without it everything is done again
	}
	return facts
}

// Waits reports whether the agent with the given key waits for a deferred decision.
func Waits(state *engine.State, key string) bool {
	return slices.ContainsFunc(state.Agents().Waiting(), func(w event.AgentStart) bool { return w.Key == key })
}

// Suspended reports whether the agent of a session waits for a deferred decision in other
// work than that with the given key. New work would close its question.
func Suspended(state *engine.State, session, key string) bool {
	return slices.ContainsFunc(state.Agents().AtWork(), func(w event.AgentStart) bool {
		return w.Session == session && w.Key != key && state.Agents().Waits(w.Key)
	})
}

// Notice returns the message for the parent's model about the end of a background task.
func Notice(key, name string, end event.AgentEnd, text string) event.UserMessage {
	var b strings.Builder
	fmt.Fprintf(&b, "[agent] %s (agent id: %s) is done: %s", name, end.Session, end.Reason)
	if end.Message != "" {
		fmt.Fprintf(&b, ": %s", end.Message)
	}
	if text = strings.TrimSpace(text); text != "" {
		b.WriteString("\n" + text)
	}
	return event.UserMessage{ID: "agent:" + key, Delivery: fact.AsNotice, Message: llm.UserText(b.String())}
}

// msgProcessDied is the message about an agent that died with its program.
const msgProcessDied = "the program ended while the agent worked; resume the agent by its id to continue"

// A Reader reads the facts of sessions.
type Reader interface {
	Read(ctx context.Context, session string, after int64) iter.Seq2[event.Event, error]
}

// LastResult reads the end of a child's task from its own session, with the text of the
// last answer and its folder. Without a key in at, it reads the last task.
func LastResult(ctx context.Context, store Reader, at event.AgentStart) (end event.AgentEnd, text, dir string) {
	end, text, dir, _ = Recover(ctx, store, at)
	return end, text, dir
}

// Recover is LastResult, and returns the child's state too.
func Recover(ctx context.Context, store Reader, at event.AgentStart) (end event.AgentEnd, text, dir string, state *engine.State) {
	end = event.AgentEnd{Key: at.Key, Session: at.Session, Agent: at.Agent, Reason: event.Internal, Message: msgProcessDied}
	state = new(engine.State)
	var last *event.RunEnd
	mine := false
	for e, err := range store.Read(ctx, at.Session, 0) {
		if errors.Is(err, session.ErrNotFound) { // the child had not begun
			end.Reason, end.CostUSD = event.Interrupted, new(float64)
			return end, "", "", state
		}
		if err != nil {
			end.Message = err.Error()
			return end, "", "", state
		}
		state.Apply(e)
		switch f := e.Data.(type) {
		case event.UserMessage:
			if mine = mine || f.ID == at.Key || at.Key == ""; at.Key == "" && f.Delivery == fact.AsPrompt {
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
			soFar.Reason, soFar.Message = event.Interrupted, msgProcessDied
			last = &soFar
		}
	}
	if last == nil {
		end.Reason, end.CostUSD = event.Interrupted, new(float64)
		return end, "", state.Dir(), state
	}
	end.Reason, end.Message = last.Reason, last.Message
	end.Turns, end.AgentTurns, end.ModelCalls, end.Usage, end.CostUSD, end.LostUSD = last.Turns, last.AgentTurns, last.ModelCalls, last.Usage, last.CostUSD, last.LostUSD
	end.Models, end.Duration = last.Models, last.Duration
	return end, last.Text, state.Dir(), state
}
