package sessiontest

import (
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// agents: a fork has the agents of its source, with the work that it knows of, and from
// then on each has its own. Work of an agent is a prompt, whose id is its key.
func agents(t *testing.T, s session.Store) {
	begun := func(key string) event.Data {
		return event.AgentStart{Key: key, Call: "c1.0", Session: "helper", Agent: "helper"}
	}
	work := func(key string) event.Data {
		m := prompt("work")
		m.ID = key
		return m
	}
	end := event.RunEnd{Reason: event.Completed}
	write(t, s, "source", list(prompt("go"), begun("one"), begun("two"))...)
	below := session.Under(s, "source")
	write(t, below, "helper", list(work("one"), end, work("two"), end)...)
	for to, c := range map[string]struct{ through, facts int64 }{"all": {0, 4}, "early": {2, 2}, "before": {1, 0}} {
		if err := session.Fork(t.Context(), s, "source", to, c.through); err != nil {
			t.Fatal(err)
		}
		mine := session.Under(s, to)
		if c.facts == 0 {
			isErr(t, "an agent that was not begun", readErr(t.Context(), mine, "helper"), session.ErrNotFound)
			continue
		}
		if got := read(t, mine, "helper", 0); int64(len(got)) != c.facts {
			t.Errorf("the agent of the fork %s has %d facts, want %d", to, len(got), c.facts)
		}
		log, err := mine.Open(t.Context(), "helper", session.Header{})
		if err != nil {
			t.Fatal(err)
		}
		add(t, log, follow(read(t, mine, "helper", 0), prompt("only here")))
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := read(t, below, "helper", 0); len(got) != 4 {
		t.Errorf("the agent of the source has %d facts now, want 4", len(got))
	}
}
