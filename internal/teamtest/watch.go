package teamtest

import (
	"context"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/teamstore"
)

// watch: who waits for mail is told about it, also of what waits already, and until
// its context ends.
func watch(t *testing.T, b bench) {
	b.team(t, "red", "lead", "ann", "bob")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watching := func(agent string) <-chan struct{} {
		t.Helper()
		c, err := b.Watch(ctx, space, agent)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	ann, twice, bob, elsewhere := watching("ann"), watching("ann"), watching("bob"), watching("carl")
	silent(t, ann, bob)
	b.send(t, teamstore.Message{From: "lead", To: "ann", Content: "one"})
	b.send(t, teamstore.Message{From: "lead", To: "ann", Content: "two"})
	told(t, "ann", ann)
	told(t, "ann's second", twice)
	silent(t, bob)
	if got := contents(b.take(t, "ann")); got != "one two" {
		t.Errorf("got %q", got)
	}
	b.send(t, teamstore.Message{From: "lead", To: teamstore.Everyone, Content: "three"})
	told(t, "ann again", ann)
	told(t, "bob", bob)
	told(t, "bob, who comes late", watching("bob"))
	silent(t, elsewhere)
	cancel()
	for _, c := range []<-chan struct{}{ann, twice, bob, elsewhere} {
		for open := true; open; {
			select {
			case _, open = <-c:
			case <-time.After(patience):
				t.Fatal("the channel is not closed at the end of the context")
			}
		}
	}
	b.send(t, teamstore.Message{From: "lead", To: "ann", Content: "four"}) // to nobody who listens
	if _, err := b.Watch(ctx, space, "ann"); err == nil {
		t.Error("no error of a context that has ended")
	}
}

// patience is how long a store may take to tell of something. A healthy one needs
// a small part of it.
const patience = 20 * time.Second

func told(t *testing.T, who string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatalf("%s was not told", who)
	}
}

// silent expects nothing to be there now. It cannot see what is late.
func silent(t *testing.T, all ...<-chan struct{}) {
	t.Helper()
	for _, c := range all {
		select {
		case <-c:
			t.Error("told of no mail")
		default:
		}
	}
}
