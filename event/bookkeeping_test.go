package event_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/openagent-go/agent/event"
)

// IsBookkeeping holds for the facts that only the agent reads, also below sub-agents and
// when a program reads them back, and for nothing else.
func TestIsBookkeeping(t *testing.T) {
	found := 0
	for name, d := range all() {
		_, want := reflect.TypeOf(d).FieldByName("Bookkeeping")
		if want {
			found++
		}
		e := event.Event{Data: d}
		below := event.Event{Data: event.AgentEvent{Event: &e}}
		twice := event.Event{Data: event.AgentEvent{Event: &below}}
		for _, e := range []event.Event{e, below, twice} {
			if got := e.IsBookkeeping(); got != want {
				t.Errorf("%s in a %T: %v, want %v", name, e.Data, got, want)
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d facts are bookkeeping", found)
	}
	if (event.Event{Data: event.AgentEvent{}}).IsBookkeeping() || (event.Event{}).IsBookkeeping() {
		t.Error("an event without data is bookkeeping")
	}
	var e event.Event
	if err := json.Unmarshal([]byte(`{"seq":1,"type":"configured","data":{"system":"secret"}}`), &e); err != nil || !e.IsBookkeeping() {
		t.Errorf("%T, %v", e.Data, err)
	}
}
