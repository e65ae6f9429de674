package eventqueue

import (
	"reflect"
	"testing"

	"github.com/openagent-go/agent/event"
)

// Signals that continue another one are joined to it, and no others.
func TestJoin(t *testing.T) {
	within := func(call string, d event.Data) event.Data {
		return event.AgentEvent{Call: call, ID: "a", Event: &event.Event{Session: "inner", Data: d}}
	}
	for name, c := range map[string]struct{ last, next, want event.Data }{
		"text":               {event.TextDelta{Key: "k", Text: "a"}, event.TextDelta{Key: "k", Text: "b"}, event.TextDelta{Key: "k", Text: "ab"}},
		"text after all":     {event.TextDelta{Key: "k", Text: "a", Restart: true}, event.TextDelta{Key: "k", Text: "b"}, event.TextDelta{Key: "k", Text: "ab", Restart: true}},
		"all of a text":      {event.TextDelta{Key: "k", Text: "a"}, event.TextDelta{Key: "k", Text: "b", Restart: true}, nil},
		"another answer":     {event.TextDelta{Key: "k", Text: "a"}, event.TextDelta{Key: "l", Text: "b"}, nil},
		"thinking":           {event.ThinkingDelta{Key: "k", Text: "a"}, event.ThinkingDelta{Key: "k", Text: "b"}, event.ThinkingDelta{Key: "k", Text: "ab"}},
		"text and thinking":  {event.ThinkingDelta{Key: "k", Text: "a"}, event.TextDelta{Key: "k", Text: "b"}, nil},
		"input":              {event.ToolInputDelta{Key: "k", ID: "1", Text: "a"}, event.ToolInputDelta{Key: "k", ID: "1", Text: "b"}, event.ToolInputDelta{Key: "k", ID: "1", Text: "ab"}},
		"input of another":   {event.ToolInputDelta{Key: "k", ID: "1", Text: "a"}, event.ToolInputDelta{Key: "k", ID: "2", Text: "b"}, nil},
		"progress":           {event.ToolProgress{Call: "c", Elapsed: 1}, event.ToolProgress{Call: "c", Elapsed: 2}, event.ToolProgress{Call: "c", Elapsed: 2}},
		"another phase":      {event.ToolProgress{Call: "c", Phase: "doing"}, event.ToolProgress{Call: "c", Phase: "done"}, nil},
		"in a sub-agent":     {within("c", event.TextDelta{Key: "k", Text: "a"}), within("c", event.TextDelta{Key: "k", Text: "b"}), within("c", event.TextDelta{Key: "k", Text: "ab"})},
		"of two sub-agents":  {within("c", event.TextDelta{Key: "k", Text: "a"}), within("d", event.TextDelta{Key: "k", Text: "b"}), nil},
		"no piece of a text": {event.Missed{}, event.Missed{}, nil},
	} {
		last := event.Event{Session: "s", Data: c.last}
		if ok := Join(&last, event.Event{Session: "s", Data: c.next}); ok != (c.want != nil) {
			t.Errorf("%s: %v", name, ok)
		} else if ok && !reflect.DeepEqual(last.Data, c.want) {
			t.Errorf("%s: %+v, want %+v", name, last.Data, c.want)
		}
		last = event.Event{Session: "s", Data: c.last}
		if Join(&last, event.Event{Session: "other", Data: c.next}) {
			t.Errorf("%s: joined with another session's", name)
		}
	}
}
