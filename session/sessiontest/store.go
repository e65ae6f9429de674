package sessiontest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

func infos(t *testing.T, s session.Store) []session.Info {
	t.Helper()
	list, err := s.List(t.Context())
	if err != nil {
		t.Fatalf("listing: %v", err)
	}
	return list
}

func listed(t *testing.T, s session.Store) {
	if list := infos(t, s); len(list) != 0 {
		t.Errorf("a new store lists %d sessions", len(list))
	}
	notice := event.UserMessage{ID: "n", Delivery: fact.AsNotice, Message: llm.UserText("a notice")}
	long := strings.Repeat("é", 300)
	for id, facts := range map[string][]event.Event{
		"one":   list(fact.Configured{Model: "m", System: strings.Repeat("s", 40<<10)}, notice, prompt("  first\nsecond"), prompt("later")),
		"two":   list(prompt(long)),
		"three": list(event.Resumed{}, prompt(strings.Repeat("x", 20<<10)+"\n"+strings.Repeat("y", 40<<10)), event.Resumed{}),
		"empty": nil,
	} {
		write(t, s, id, facts...)
	}
	late := opened(t, s, "two") // open sessions are listed as well
	e := follow(make([]event.Event, 1), event.RunEnd{Reason: event.Completed, Text: strings.Repeat("z", 20<<10)})
	e.Time = start.Add(time.Hour)
	add(t, late, e)

	want := []session.Info{
		{Header: session.Header{Session: "two"}, Updated: start.Add(time.Hour), Prompt: strings.Repeat("é", 200), Messages: 1, Facts: 2},
		{Header: session.Header{Session: "one"}, Updated: start.Add(3 * time.Second), Prompt: "first", Model: "m", Messages: 3, Facts: 4},
		{Header: session.Header{Session: "three"}, Updated: start.Add(2 * time.Second), Prompt: strings.Repeat("x", 200), Messages: 1, Facts: 3},
		{Header: session.Header{Session: "empty"}, Updated: start},
	}
	got := infos(t, s)
	for i := range got {
		info, err := session.Stat(t.Context(), s, got[i].Session)
		if err != nil || !reflect.DeepEqual(info, got[i]) {
			t.Errorf("stat of %s: %+v, %v; the list says %+v", got[i].Session, info, err, got[i])
		}
		got[i].Size, got[i].State = 0, "" // stores need not tell them
	}
	for i := range want {
		want[i].Created = start
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("list is\n%+v\nwant\n%+v", got, want)
	}
}

func latest(t *testing.T, s session.Store) {
	_, err := session.Latest(t.Context(), s)
	isErr(t, "latest of none", err, session.ErrNotFound)
	for i, id := range []string{"b", "a", "c"} {
		write(t, s, id, Prompts(3-i)...)
	}
	if info, err := session.Latest(t.Context(), s); err != nil || info.Session != "b" || info.Facts != 3 {
		t.Errorf("latest is %+v, %v; want b", info, err)
	}
}

func fork(t *testing.T, s session.Store) {
	facts := Facts()
	facts = append(facts, follow(facts, prompt(strings.Repeat("big", 20<<10))))
	for range 250 { // more than one append's worth
		facts = append(facts, follow(facts, prompt("more")))
	}
	source, err := s.Open(t.Context(), "source", session.Header{Created: start, Dir: "/work"})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close() // a session in use can be forked
	add(t, source, facts...)

	n := int64(len(facts))
	for _, through := range []int64{0, 5, n - 1, n} {
		id := fmt.Sprintf("fork%d", through)
		if err := session.Fork(t.Context(), s, "source", id, through); err != nil {
			t.Fatalf("forking through %d: %v", through, err)
		}
		if through == 0 {
			through = n
		}
		same(t, id, read(t, s, id, 0), facts[:through])
		info, err := session.Stat(t.Context(), s, id)
		if err != nil {
			t.Fatal(err)
		}
		if want := (session.Position{Session: "source", Seq: through}); info.Parent == nil || *info.Parent != want || info.Dir != "/work" {
			t.Errorf("fork has parent %v and directory %q, want %v and /work", info.Parent, info.Dir, want)
		}
		more := follow(facts[:through], prompt("only here"))
		write(t, s, id, more)
		same(t, id, read(t, s, id, through), []event.Event{more})
	}
	same(t, "source", read(t, s, "source", 0), facts)

	if d, ok := s.(deleter); ok { // a fork does not need its source
		if err := source.Close(); err != nil {
			t.Fatal(err)
		}
		if err := d.Delete(t.Context(), "source"); err != nil {
			t.Fatal(err)
		}
		same(t, "fork5", read(t, s, "fork5", 0)[:5], facts[:5])
		same(t, fmt.Sprint("fork", n), read(t, s, fmt.Sprint("fork", n), 0)[:n], facts)
	}
}

func forkRefused(t *testing.T, s session.Store) {
	write(t, s, "s", Prompts(3)...)
	write(t, s, "t", Prompts(1)...)
	write(t, s, "empty")
	for _, to := range []string{"t", "s", "empty"} {
		isErr(t, "fork to "+to, session.Fork(t.Context(), s, "s", to, 0), session.ErrExists)
	}
	same(t, "t", read(t, s, "t", 0), Prompts(1))
	isErr(t, "fork of nothing", session.Fork(t.Context(), s, "none", "new", 0), session.ErrNotFound)
	for _, through := range []int64{4, -1} {
		isErr(t, fmt.Sprint("fork through ", through), session.Fork(t.Context(), s, "s", "new", through), session.ErrNotFound)
	}
	if got := infos(t, s); slices.ContainsFunc(got, func(i session.Info) bool { return i.Session == "new" }) {
		t.Error("a fork that failed has left a session")
	}
}

type deleter interface {
	Delete(ctx context.Context, id string) error
}

func deleted(t *testing.T, s session.Store) {
	d, ok := s.(deleter)
	if !ok {
		t.Skip("the store has no Delete")
	}
	log := opened(t, s, "s")
	write(t, s, "other", Prompts(1)...)
	add(t, log, list(prompt("x"), prompt(strings.Repeat("big", 20<<10)))...)
	isErr(t, "deleting a session in use", d.Delete(t.Context(), "s"), session.ErrBusy)
	if got := read(t, s, "s", 0); len(got) != 2 {
		t.Errorf("%d facts are left, want 2", len(got))
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Delete(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	isErr(t, "reading", readErr(t.Context(), s, "s"), session.ErrNotFound)
	isErr(t, "deleting again", d.Delete(t.Context(), "s"), session.ErrNotFound)
	if got := infos(t, s); len(got) != 1 || got[0].Session != "other" {
		t.Errorf("list is %+v, want the other session alone", got)
	}
	write(t, s, "s", Prompts(1)...)
	same(t, "s", read(t, s, "s", 0), Prompts(1))
}
