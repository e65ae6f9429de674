package sessiontest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

func everyType(t *testing.T, s session.Store) {
	facts := Facts()
	log := opened(t, s, "s")
	for _, e := range facts {
		add(t, log, e)
	}
	same(t, "s", read(t, s, "s", 0), facts)
}

func readAfter(t *testing.T, s session.Store) {
	facts := Prompts(5)
	write(t, s, "s", facts...)
	for after, want := range map[int64][]event.Event{-1: facts, 0: facts, 1: facts[1:], 4: facts[4:], 5: nil, 99: nil} {
		same(t, "s", read(t, s, "s", after), want)
	}
}

func reopen(t *testing.T, s session.Store) {
	facts := Prompts(6)
	for i := range facts {
		log := opened(t, s, "s")
		if log.Last() != int64(i) {
			t.Fatalf("last is %d, want %d", log.Last(), i)
		}
		add(t, log, facts[i])
		if log.Last() != int64(i+1) {
			t.Fatalf("last is %d after an append, want %d", log.Last(), i+1)
		}
		if l, ok := log.(interface{ Torn() int64 }); ok && l.Torn() != 0 {
			t.Errorf("%d bytes torn", l.Torn())
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "s", read(t, s, "s", 0), facts)
}

// header: the header of a session is kept, a later opening does not change it.
func header(t *testing.T, s session.Store) {
	want := session.Header{Session: "s", Created: start, Dir: "/a \"dir\" <ü>", Parent: &session.Position{Session: "p", Seq: 7}}
	for _, h := range []session.Header{
		{Created: start.In(time.FixedZone("", 3600)), Dir: want.Dir, Parent: want.Parent},
		{Session: "other", Created: start.Add(time.Hour), Dir: "/b"},
	} {
		log, err := s.Open(t.Context(), "s", h)
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		info, err := session.Stat(t.Context(), s, "s")
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(info.Header, want) {
			t.Errorf("header is %+v, want %+v", info.Header, want)
		}
		if info.Facts != 0 || info.Prompt != "" || !info.Updated.Equal(start) {
			t.Errorf("info of an empty session: %+v", info)
		}
	}
	before := time.Now().Add(-time.Second)
	log, err := s.Open(t.Context(), "now", session.Header{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if info, err := session.Stat(t.Context(), s, "now"); err != nil || info.Created.Before(before) {
		t.Errorf("created at %v, %v; want the present time", info.Created, err)
	}
}

func fence(t *testing.T, s session.Store) {
	facts := Prompts(4)
	log := opened(t, s, "s")
	add(t, log, facts[:2]...)
	for _, after := range []int64{-1, 0, 1, 3} {
		isErr(t, fmt.Sprintf("append after %d", after), log.Append(t.Context(), after, true, facts[2]), session.ErrConflict)
	}
	same(t, "s", read(t, s, "s", 0), facts[:2])
	add(t, log, facts[2])
	same(t, "s", read(t, s, "s", 0), facts[:3])
}

// refusedFacts: an event that is not a fact in its place is refused, with everything
// appended with it, and the log stays good.
func refusedFacts(t *testing.T, s session.Store) {
	facts := Prompts(3)
	log := opened(t, s, "s")
	add(t, log, facts[0])
	bad := func(change func(*event.Event)) event.Event {
		e := facts[2]
		change(&e)
		return e
	}
	for name, e := range map[string]event.Event{
		"nil":           bad(func(e *event.Event) { e.Data = nil }),
		"signal":        bad(func(e *event.Event) { e.Data = event.TextDelta{Text: "x"} }),
		"pointer":       bad(func(e *event.Event) { e.Data = &event.Resumed{} }),
		"gap":           bad(func(e *event.Event) { e.Seq = 4 }),
		"again":         bad(func(e *event.Event) { e.Seq = 2 }),
		"zero":          bad(func(e *event.Event) { e.Seq = 0 }),
		"after itself":  bad(func(e *event.Event) { e.Prev = 3 }),
		"negative prev": bad(func(e *event.Event) { e.Prev = -1 }),
		"other session": bad(func(e *event.Event) { e.Session = "other" }),
	} {
		if err := log.Append(t.Context(), 1, true, facts[1], e); err == nil {
			t.Fatalf("%s: no error", name)
		}
		same(t, "s", read(t, s, "s", 0), facts[:1])
	}
	e := facts[1]
	e.Session = "s"
	branch := bad(func(e *event.Event) { e.Prev = 1 })
	add(t, log, e, branch)
	same(t, "s", read(t, s, "s", 0), []event.Event{facts[0], e, branch})
}

func batch(t *testing.T, s session.Store) {
	facts := Prompts(500)
	log := opened(t, s, "s")
	for _, sync := range []bool{false, true} {
		if err := log.Append(t.Context(), 0, sync); err != nil {
			t.Errorf("appending nothing: %v", err)
		}
	}
	if err := log.Append(t.Context(), 0, false, facts...); err != nil {
		t.Fatal(err)
	}
	same(t, "s", read(t, s, "s", 0), facts)
}

func bigContents(t *testing.T, s session.Store) {
	image := make([]byte, 100<<10)
	for i := range image {
		image[i] = byte(i * i >> 7)
	}
	var facts []event.Event
	for _, n := range []int{1 << 10, 32<<10 - 200, 32 << 10, 33 << 10, 70 << 10} {
		text := strings.Repeat("ab\"\\\n<>\u2028é,", n/14+1)
		facts = append(facts, follow(facts, prompt(text)))
		facts = append(facts, follow(facts, event.RunEnd{Reason: event.Completed, Text: text, Partial: text + ".", Message: "m"}))
		tool := llm.Tool{Name: text, Input: json.RawMessage("{}")}
		facts = append(facts, follow(facts, fact.Configured{System: text, Model: "m", Tools: []fact.Tool{{Tool: tool}}}))
	}
	facts = append(facts, follow(facts, prompt("look", llm.Image{MediaType: "image/png", Data: image})))
	log := opened(t, s, "s")
	add(t, log, facts[:3]...)
	for _, e := range facts[3:] {
		add(t, log, e)
	}
	same(t, "s", read(t, s, "s", 0), facts)
}

func texts(t *testing.T, s session.Store) {
	var facts []event.Event
	for _, text := range []string{"", " ", "\x00\x01\x1f\x7f", "\u2028\u2029\ufeff\ufffd", "<script>&amp;</script>", `","crc":"00000000"}`,
		"}\n{\"seq\":1}\n", "日本語 עברית \U0001F469\u200D\U0001F4BB e\u0301", strings.Repeat("\\\"", 100), "\r\n\t"} {
		facts = append(facts, follow(facts, event.RunEnd{Reason: event.Completed, Text: text}))
	}
	write(t, s, "s", facts...)
	same(t, "s", read(t, s, "s", 0), facts)
}
