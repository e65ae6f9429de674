package attached

import (
	"strings"
	"testing"

	"github.com/openagent-go/agent/event"
)

// After a broken connection the texts that have no restart come again as wholes: what was shown of
// them is not shown again, also in sub-agents.
func TestInflight(t *testing.T) {
	in := func(session string, d event.Data) event.Event { return event.Event{Session: session, Data: d} }
	agent := func(d event.Data) event.Event {
		e := in("sub", d)
		return in("s", event.AgentEvent{Call: "c", ID: "i", Agent: "helper", Event: &e})
	}
	texts := func(e event.Event) string {
		_, text := unfinished(e)
		return *text
	}
	f := inflight{}
	for _, e := range []event.Event{
		in("s", event.ThinkingDelta{Key: "k", Text: "one "}), in("s", event.ThinkingDelta{Key: "k", Text: "two "}),
		in("s", event.ToolInputDelta{Key: "k", ID: "i", Text: `{"a":`}), agent(event.ThinkingDelta{Key: "k", Text: "in"}),
	} {
		f.piece(e)
	}
	var got []string
	for range 2 {
		for _, e := range []event.Event{
			in("s", event.ThinkingDelta{Key: "k", Text: "one two three "}), in("s", event.ToolInputDelta{Key: "k", ID: "i", Text: `{"a":1}`}),
			in("s", event.ToolInputDelta{Key: "k", ID: "j", Text: `{`}), agent(event.ThinkingDelta{Key: "k", Text: "inner"}),
		} {
			if e, news := f.whole(e); news {
				got = append(got, texts(e))
			}
		}
	}
	if want := "three |1}|{|ner"; strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", got, want)
	}
	if _, news := f.whole(in("s", event.TextDelta{Key: "k", Text: "all", Restart: true})); !news {
		t.Error("a restart is no news")
	}
}
