package attached

import (
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
)

// Prompts that a rewind took away are not offered, also where facts are missing.
func TestPrompts(t *testing.T) {
	said := event.UserMessage{Delivery: fact.AsPrompt}
	got := prompts([]event.Event{
		{Seq: 2, Prev: 1, Data: said}, {Seq: 5, Prev: 4, Data: event.RunEnd{}},
		{Seq: 7, Prev: 6, Data: said}, {Seq: 9, Prev: 8, Data: event.RunEnd{}},
		{Seq: 10, Prev: 6, Data: event.Rewound{}},
		{Seq: 12, Prev: 11, Data: said}, {Seq: 13, Prev: 12, Data: event.UserMessage{Delivery: fact.AsSteer}},
	})
	if len(got) != 2 || got[0].Seq != 12 || got[1].Seq != 2 {
		t.Errorf("%+v", got)
	}
}
