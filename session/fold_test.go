package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

var (
	_ session.Stater     = session.Folder{}
	_ session.LastReader = session.Folder{}
	_ session.Nester     = session.Folder{}
	_ session.Deleter    = session.Folder{}
	_ session.Stater     = (*session.Volatile)(nil)
	_ session.LastReader = (*session.Volatile)(nil)
	_ session.Nester     = (*session.Volatile)(nil)
	_ session.Deleter    = (*session.Volatile)(nil)
)

// A Summary says after each fact what the stores of this package say.
func TestSummary(t *testing.T) {
	header := session.Header{Session: "s", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Dir: "/work", Branch: "main"}
	facts := []event.Data{
		event.UserMessage{ID: "m", Delivery: fact.AsPrompt, Message: llm.UserText("  Fix the build.\nPlease.")},
		fact.Configured{Model: "first"},
		event.AssistantMessage{Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "ok"}}}}},
		event.ModelChanged{Model: "second"},
		event.SessionNamed{Title: "build", Tag: "ci"},
		event.UserMessage{ID: "n", Delivery: fact.AsPrompt, Message: llm.UserText("More.")},
		event.RunEnd{Reason: event.Completed},
		event.Rewound{}, // to the first prompt's answer: that run has no end
	}
	const rewound, to = 7, 3
	for name, store := range map[string]session.Store{"memory": session.Memory(), "folder": session.Folder{Path: t.TempDir()}} {
		log, err := store.Open(t.Context(), "s", header)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		sum := session.Summary{Header: header, Locked: true}
		for i := range len(facts) + 1 {
			want, err := session.Stat(t.Context(), store, "s")
			if err != nil {
				t.Fatal(err)
			}
			want.Size = 0
			if got := sum.Info(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s, %d facts:\n%+v, want\n%+v", name, i, got, want)
			}
			data, err := json.Marshal(&sum)
			if err != nil {
				t.Fatal(err)
			}
			kept := session.Summary{Header: header, Locked: true}
			if err := json.Unmarshal(data, &kept); err != nil {
				t.Fatal(err)
			}
			if got := kept.Info(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s, %d facts, from JSON:\n%+v, want\n%+v", name, i, got, want)
			}
			if i == len(facts) {
				break
			}
			prev := int64(i)
			if i == rewound {
				prev = to
			}
			e := event.Event{Seq: int64(i + 1), Prev: prev, Time: header.Created.Add(time.Duration(i+1) * time.Minute), Session: "s", Data: facts[i]}
			if err := log.Append(t.Context(), int64(i), false, e); err != nil {
				t.Fatal(err)
			}
			sum.Add(e)
		}
		if got := sum.Info(); got.Prompt != "Fix the build." || got.Model != "second" || got.Title != "build" || got.Messages != 3 || got.Facts != 8 || got.State != session.StateRunning {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestCheckAppend(t *testing.T) {
	fact := func(seq, prev int64, id string) event.Event {
		return event.Event{Seq: seq, Prev: prev, Session: id, Data: event.SessionNamed{Title: "x"}}
	}
	if err := session.CheckAppend(t.Context(), "s", 2, 2, []event.Event{fact(3, 2, "s"), fact(4, 0, "")}); err != nil {
		t.Error(err)
	}
	if err := session.CheckAppend(t.Context(), "s", 3, 2, nil); !errors.Is(err, session.ErrConflict) {
		t.Errorf("another writer: %v", err)
	}
	for name, e := range map[string]event.Event{
		"a signal": {Seq: 3, Data: event.TextDelta{}}, "another number": fact(4, 2, "s"), "a later fact before it": fact(3, 3, "s"), "another session": fact(3, 2, "other"),
	} {
		if err := session.CheckAppend(t.Context(), "s", 2, 2, []event.Event{e}); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := session.CheckAppend(ended, "s", 2, 2, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
}

// A store of your own keeps a Summary beside each session, for its List.
func ExampleSummary() {
	sum := session.Summary{Header: session.Header{Session: "s"}}
	sum.Add(event.Event{Seq: 1, Data: event.UserMessage{Delivery: fact.AsPrompt, Message: llm.UserText("Fix the build.")}})
	info := sum.Info()
	fmt.Println(info.Session, info.Facts, info.Prompt)
	// Output: s 1 Fix the build.
}
