package sessiontest

import (
	"fmt"
	"reflect"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/fill"
	"github.com/openagent-go/agent/llm"
)

// kinds holds one value of each type of fact. A test compares it with the
// source of package event.
var kinds = []event.Fact{
	fact.Configured{},
	event.UserMessage{},
	fact.Delivered{},
	fact.Retracted{},
	fact.ModelStart{},
	event.AssistantMessage{},
	event.ModelFailed{},
	fact.CompactionRequested{}, event.Compacted{},
	fact.Waited{},
	fact.Authorized{},
	fact.Answered{},
	event.ToolStart{},
	fact.ToolDone{}, fact.ToolAmended{},
	event.ToolResult{},
	fact.Hooked{}, fact.OutputChecked{}, event.PermissionsChanged{},
	fact.Checkpointed{},
	event.ModeChanged{},
	fact.ToolChanged{}, fact.ToolsChanged{},
	event.ModelChanged{}, fact.FallbacksChanged{}, fact.BudgetChanged{}, fact.CallbackChanged{},
	fact.Stopped{},
	event.Resumed{},
	event.Rewound{},
	event.SessionNamed{},
	event.AgentStart{}, fact.AgentSuspended{}, event.AgentEnd{},
	event.RunEnd{},
}

// start is the time of the first fact of each list; the others follow by seconds.
var start = time.Date(2026, 1, 2, 3, 4, 5, 678_901_234, time.UTC)

// Facts returns a session's facts, numbered from 1: one of every type, with
// every field set.
func Facts() []event.Event {
	var facts []event.Event
	for _, k := range kinds {
		facts = append(facts, follow(facts, fill.New(reflect.TypeOf(k)).Interface().(event.Data)))
	}
	return facts
}

// Prompts returns n facts, each a prompt that says its number.
func Prompts(n int) []event.Event {
	facts := make([]event.Event, 0, n)
	for range n {
		facts = append(facts, follow(facts, prompt(fmt.Sprintf("prompt %d", len(facts)+1))))
	}
	return facts
}

// follow returns the event that comes after facts.
func follow(facts []event.Event, data event.Data) event.Event {
	n := int64(len(facts))
	return event.Event{Seq: n + 1, Prev: n, Time: start.Add(time.Duration(n) * time.Second), Data: data}
}

// list numbers facts from 1.
func list(data ...event.Data) []event.Event {
	var facts []event.Event
	for _, d := range data {
		facts = append(facts, follow(facts, d))
	}
	return facts
}

// prompt returns a prompt that says text.
func prompt(text string, more ...llm.Block) event.UserMessage {
	return event.UserMessage{ID: "m", Delivery: fact.AsPrompt, Message: llm.UserText(text, more...)}
}
