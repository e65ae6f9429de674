package eventqueue

import (
	"strings"
	"testing"

	"github.com/openagent-go/agent/event"
)

func delta(session, key, text string) event.Event {
	return event.Event{Session: session, Data: event.TextDelta{Key: key, Text: text}}
}

// said returns the texts in the window, and what was missed.
func said(w *Window) (string, event.Missed) {
	events, missed := w.Take()
	var texts []string
	for _, e := range events {
		inner := innermost(&e)
		if d, ok := inner.Data.(event.TextDelta); ok {
			from := " "
			if d.Restart {
				from = ": "
			}
			texts = append(texts, inner.Session+from+d.Text)
		} else {
			texts = append(texts, event.Type(inner.Data))
		}
	}
	return strings.Join(texts, ", "), missed
}

// The first piece of each answer comes with the text before it, later ones alone. Pieces
// that wait are merged.
func TestWindowTexts(t *testing.T) {
	w := NewWindow(4)
	wants := func(want string, missed event.Missed) {
		t.Helper()
		if got, m := said(w); got != want || m != missed {
			t.Errorf("got %q and missed %+v, want %q and %+v", got, m, want, missed)
		}
	}
	w.Put(delta("a", "1", "b"), "ab")
	w.Put(delta("a", "1", "c"), "abc")
	w.Put(delta("b", "1", "x"), "x")
	wants("a: abc, b x", event.Missed{})
	w.Put(delta("a", "1", "d"), "abcd")
	wants("a d", event.Missed{})
	w.Put(delta("a", "2", "z"), "yz")
	wants("a: yz", event.Missed{})
	below := delta("a", "2", "!")
	w.Put(event.Event{Session: "b", Data: event.AgentEvent{Event: &below}}, "yz!")
	wants("a !", event.Missed{})

	for range 6 {
		w.Put(event.Event{Session: "a", Data: event.JournalCut{}}, "")
	}
	w.Put(event.Event{Seq: 1, Session: "a", Data: event.Rewound{}}, "")
	w.Put(delta("a", "2", "1"), "yz!1")
	wants("journal_cut, journal_cut, journal_cut, journal_cut", event.Missed{Signals: 3, Facts: 1})
	w.Put(delta("a", "2", "2"), "yz!12")
	wants("a: yz!12", event.Missed{})
	w.Put(event.Event{Seq: 2, Session: "a", Data: event.AssistantMessage{Key: "2"}}, "")
	if len(w.texts) != 0 {
		t.Errorf("the window remembers %v", w.texts)
	}
}
