package sessiontest

import (
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
)

// states: the state of a session follows its facts and its lock, where the store tells it.
// Questions are listed in any store, those of agents too.
func states(t *testing.T, s session.Store) {
	use := llm.ToolUse{ID: "u", Name: "Write", Input: []byte(`{"n":1}`)}
	answer := event.AssistantMessage{Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{use}}}}
	ask := fact.Authorized{Call: "c2.0", Decision: permission.Decision{Behavior: permission.Asked, Reason: "it writes"}}
	is := func(want session.State, questions ...string) {
		t.Helper()
		info, err := session.Stat(t.Context(), s, "s")
		if err != nil || info.State != want && info.State != "" {
			t.Errorf("state %q, %v; want %q", info.State, err, want)
		}
		all, err := session.Waiting(t.Context(), s)
		if err != nil || len(all) != len(questions) {
			t.Fatalf("questions %+v, %v; want %q", all, err, questions)
		}
		for i, q := range all {
			if q.Session != "s" || q.Call != questions[i] || q.Tool != "Write" || string(q.Input) != `{"n":1}` || q.Text != "it writes" || q.Since.Before(start) {
				t.Errorf("question %+v, want %q", q, questions[i])
			}
		}
	}
	log := opened(t, s, "s")
	last := int64(0)
	next := func(data ...event.Data) {
		t.Helper()
		for _, d := range data {
			e := follow(make([]event.Event, last), d)
			add(t, log, e)
			last++
		}
	}
	is(session.StateIdle)
	next(prompt("go"), answer)
	is(session.StateRunning)
	next(ask)
	is(session.StateWaiting, "c2.0")
	next(event.RunEnd{Reason: event.Suspended})
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	is(session.StateWaiting, "c2.0")
	log = opened(t, s, "s")
	next(fact.Answered{Call: "c2.0", Decision: permission.Allow()})
	is(session.StateUnfinished)
	next(event.Resumed{}, event.AgentStart{Key: "k", Call: "c2.0", Session: "helper", Agent: "helper"})
	is(session.StateRunning)
	below, err := session.Under(s, "s").Open(t.Context(), "helper", session.Header{Created: start, Agent: &session.ParentRef{Name: "helper", Kind: "helper", Session: "s", Call: "c2.0"}})
	if err != nil {
		t.Fatal(err)
	}
	add(t, below, list(prompt("work"), answer, ask)...)
	if _, nested := s.(interface{ Under(string) session.Store }); nested {
		is(session.StateWaiting, "helper/c2.0")
	} else {
		is(session.StateRunning, "helper/c2.0") // its list has the agent too
	}
	add(t, below, list(prompt("work"), answer, ask, event.RunEnd{Reason: event.Interrupted})[3:]...)
	if err := below.Close(); err != nil {
		t.Fatal(err)
	}
	is(session.StateRunning)
	next(event.AgentEnd{Key: "k", Session: "helper"})
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	is(session.StateUnfinished)
	log = opened(t, s, "s")
	next(event.RunEnd{Reason: event.Completed})
	is(session.StateIdle)
	e := follow(make([]event.Event, last), event.Rewound{})
	e.Prev = 3
	add(t, log, e)
	last++
	is(session.StateWaiting, "c2.0")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	is(session.StateWaiting, "c2.0")
}
