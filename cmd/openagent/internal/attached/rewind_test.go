package attached

import (
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/text"
)

// Prompts that a rewind took away are not offered, also where facts are missing.
func TestPrompts(t *testing.T) {
	said := event.UserMessage{Delivery: fact.AsPrompt}
	var all heads
	for _, e := range []event.Event{
		{Seq: 2, Prev: 1, Data: said}, {Seq: 5, Prev: 4, Data: event.RunEnd{}},
		{Seq: 7, Prev: 6, Data: said}, {Seq: 9, Prev: 8, Data: event.RunEnd{}},
		{Seq: 10, Prev: 6, Data: event.Rewound{}},
		{Seq: 12, Prev: 11, Data: said}, {Seq: 13, Prev: 12, Data: event.UserMessage{Delivery: fact.AsSteer}},
	} {
		all.add(e, text.OneLine)
	}
	if got := all.offered(); len(got) != 2 || got[0].seq != 12 || got[1].seq != 2 {
		t.Errorf("%+v", got)
	}
}

// Of very many prompts the last ones are offered.
func TestManyPrompts(t *testing.T) {
	var all heads
	const n = 3*maxPrompts + 7
	for i := int64(1); i <= n; i++ {
		all.add(event.Event{Seq: i, Prev: i - 1, Data: event.UserMessage{Delivery: fact.AsPrompt}}, text.OneLine)
	}
	if got := all.offered(); len(got) != maxPrompts || got[0].seq != n || got[maxPrompts-1].seq != n-maxPrompts+1 || len(all.prompts) > 2*maxPrompts {
		t.Errorf("%d prompts are offered of %d, from %d to %d", len(got), len(all.prompts), got[0].seq, got[len(got)-1].seq)
	}
}
