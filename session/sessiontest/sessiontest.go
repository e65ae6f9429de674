// Package sessiontest tests implementations of [session.Store].
package sessiontest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// Run tests the stores that open returns, each of them new and empty. A method
// Delete(ctx, id) error is tested where there is one.
func Run(t *testing.T, open func(t *testing.T) session.Store) {
	for name, test := range map[string]func(*testing.T, session.Store){
		"every type":         everyType,
		"read after":         readAfter,
		"reopen":             reopen,
		"header":             header,
		"fence":              fence,
		"refused facts":      refusedFacts,
		"batch":              batch,
		"busy":               busy,
		"closed":             closed,
		"many openers":       manyOpeners,
		"read while written": readWhileWritten,
		"leaving a read":     leavingRead,
		"ids":                ids,
		"not found":          notFound,
		"big contents":       bigContents,
		"texts":              texts,
		"cancelled":          cancelled,
		"list":               listed,
		"latest":             latest,
		"names":              named,
		"pages":              pages,
		"search":             searched,
		"fork":               fork,
		"fork refused":       forkRefused,
		"delete":             deleted,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// write appends facts to a session, with the first one new, and closes it.
func write(t *testing.T, s session.Store, id string, facts ...event.Event) {
	t.Helper()
	log := opened(t, s, id)
	add(t, log, facts...)
	if err := log.Close(); err != nil {
		t.Fatalf("closing %s: %v", id, err)
	}
}

func opened(t *testing.T, s session.Store, id string) session.Log {
	t.Helper()
	log, err := s.Open(t.Context(), id, session.Header{Created: start})
	if err != nil {
		t.Fatalf("opening %q: %v", id, err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log
}

func add(t *testing.T, log session.Log, facts ...event.Event) {
	t.Helper()
	if err := log.Append(t.Context(), log.Last(), true, facts...); err != nil {
		t.Fatalf("appending %d facts: %v", len(facts), err)
	}
}

func read(t *testing.T, s session.Store, id string, after int64) []event.Event {
	t.Helper()
	var facts []event.Event
	for e, err := range s.Read(t.Context(), id, after) {
		if err != nil {
			t.Fatalf("reading %q: %v", id, err)
		}
		facts = append(facts, e)
	}
	return facts
}

// same compares what was read of a session with what was appended to it.
func same(t *testing.T, id string, got, want []event.Event) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("read %d facts, want %d", len(got), len(want))
	}
	for i, w := range want {
		w.Session = id
		if !reflect.DeepEqual(got[i], w) {
			t.Fatalf("fact %d came back changed:\n got %#v\nwant %#v", i+1, got[i], w)
		}
	}
}

// isErr reports an error that is not of the kind wanted.
func isErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: error %v, want %v", what, got, want)
	}
}

// readErr returns the error that a read ends with.
func readErr(ctx context.Context, s session.Store, id string) error {
	for _, err := range s.Read(ctx, id, 0) {
		if err != nil {
			return err
		}
	}
	return nil
}

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
		if n := session.Torn(log); n != 0 {
			t.Errorf("%d bytes torn", n)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "s", read(t, s, "s", 0), facts)
}

// header: what a session begins with is kept, a later opening does not change it.
func header(t *testing.T, s session.Store) {
	want := session.Header{Session: "s", Created: start, Dir: "/a \"dir\" <ü>", Parent: &session.Point{Session: "p", Seq: 7}}
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

// refusedFacts: what is not a fact in its place is refused, all that is appended
// with it too, and the log stays good.
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

func busy(t *testing.T, s session.Store) {
	log := opened(t, s, "s")
	add(t, log, Prompts(1)...)
	_, err := s.Open(t.Context(), "s", session.Header{})
	isErr(t, "second opening", err, session.ErrSessionBusy)
	opened(t, s, "other")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	opened(t, s, "s")
}

func closed(t *testing.T, s session.Store) {
	log := opened(t, s, "s")
	add(t, log, Prompts(1)...)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	isErr(t, "append to a closed log", log.Append(t.Context(), 1, true, Prompts(2)[1]), fs.ErrClosed)
	next := opened(t, s, "s")
	if err := log.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	_, err := s.Open(t.Context(), "s", session.Header{})
	isErr(t, "opening after the old log was closed again", err, session.ErrSessionBusy)
	if next.Last() != 1 {
		t.Errorf("last is %d, want 1", next.Last())
	}
}

// manyOpeners: however many open and append at once, one at a time has the session.
func manyOpeners(t *testing.T, s session.Store) {
	var wg sync.WaitGroup
	var holders, wins atomic.Int32
	for range 8 {
		wg.Go(func() {
			for range 20 {
				log, err := s.Open(context.Background(), "s", session.Header{})
				if err != nil {
					if !errors.Is(err, session.ErrSessionBusy) {
						t.Errorf("opening: %v", err)
					}
					continue
				}
				if holders.Add(1) > 1 {
					t.Error("two have the session open")
				}
				e := follow(make([]event.Event, log.Last()), prompt("x"))
				if err := log.Append(context.Background(), log.Last(), false, e); err != nil {
					t.Errorf("appending: %v", err)
				}
				wins.Add(1)
				holders.Add(-1)
				if err := log.Close(); err != nil {
					t.Errorf("closing: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if got := read(t, s, "s", 0); len(got) != int(wins.Load()) || len(got) == 0 {
		t.Errorf("%d facts of %d appends", len(got), wins.Load())
	}
}

// readWhileWritten: a reader sees whole facts, and all that were there when it began.
func readWhileWritten(t *testing.T, s session.Store) {
	facts := Prompts(200)
	log := opened(t, s, "s")
	var wg sync.WaitGroup
	var known atomic.Int64
	for range 2 {
		wg.Go(func() {
			for known.Load() < int64(len(facts)) {
				least := known.Load()
				n := int64(0)
				for e, err := range s.Read(context.Background(), "s", 0) {
					if err != nil {
						t.Errorf("reading: %v", err)
						return
					}
					if n++; e.Seq != n {
						t.Errorf("fact %d where %d is due", e.Seq, n)
						return
					}
				}
				if n < least {
					t.Errorf("read %d facts when %d were recorded", n, least)
					return
				}
			}
		})
	}
	for i, e := range facts {
		if err := log.Append(t.Context(), int64(i), false, e); err != nil {
			t.Error(err)
			break
		}
		known.Store(int64(i + 1))
	}
	known.Store(int64(len(facts)))
	wg.Wait()
}

func leavingRead(t *testing.T, s session.Store) {
	facts := Prompts(3)
	write(t, s, "s", facts...)
	for e, err := range s.Read(t.Context(), "s", 1) {
		if err != nil || e.Seq != 2 {
			t.Errorf("got fact %d, %v", e.Seq, err)
		}
		break
	}
	all := s.Read(t.Context(), "s", 0)
	for range 2 {
		n := 0
		for range all {
			n++
		}
		if n != 3 {
			t.Errorf("read %d facts, want 3", n)
		}
	}
}

func ids(t *testing.T, s session.Store) {
	for _, id := range []string{"", ".", "..", "a/b", "/a", "a/", `a\b`, "..a", "a..b", "a\x00b", "a\nb", "\x7f", "\xff",
		strings.Repeat("x", 201), "../" + session.NewID()} {
		_, err := s.Open(t.Context(), id, session.Header{})
		isErr(t, fmt.Sprintf("opening %q", id), err, session.ErrBadID)
		isErr(t, fmt.Sprintf("reading %q", id), readErr(t.Context(), s, id), session.ErrBadID)
		isErr(t, fmt.Sprintf("forking from %q", id), session.Fork(t.Context(), s, id, "t", 0), session.ErrBadID)
		_, err = session.Stat(t.Context(), s, id)
		isErr(t, fmt.Sprintf("stat of %q", id), err, session.ErrBadID)
		if d, ok := s.(deleter); ok {
			isErr(t, fmt.Sprintf("deleting %q", id), d.Delete(t.Context(), id), session.ErrBadID)
		}
	}
	good := []string{"a", "a.b", "-", "Sitzung für Ä 会", strings.Repeat("x", 200), session.NewID()}
	for _, id := range good {
		write(t, s, id, Prompts(1)...)
		same(t, id, read(t, s, id, 0), Prompts(1))
	}
	isErr(t, "forking to a bad id", session.Fork(t.Context(), s, "a", "a/b", 0), session.ErrBadID)
	if infos := infos(t, s); len(infos) != len(good) {
		t.Errorf("%d sessions are listed, want %d", len(infos), len(good))
	}
}

func notFound(t *testing.T, s session.Store) {
	write(t, s, "s", Prompts(1)...)
	isErr(t, "reading", readErr(t.Context(), s, "t"), session.ErrNotFound)
	_, err := session.Stat(t.Context(), s, "t")
	isErr(t, "stat", err, session.ErrNotFound)
	if d, ok := s.(deleter); ok {
		isErr(t, "deleting", d.Delete(t.Context(), "t"), session.ErrNotFound)
	}
	if infos := infos(t, s); len(infos) != 1 {
		t.Errorf("asking for a session has made it: %+v", infos)
	}
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
		facts = append(facts, follow(facts, event.Configured{System: text, Model: "m", Tools: []event.Tool{{Tool: tool}}}))
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

// cancelled: an ended context records nothing and breaks nothing.
func cancelled(t *testing.T, s session.Store) {
	facts := Prompts(3)
	log := opened(t, s, "s")
	add(t, log, facts[:2]...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	isErr(t, "append", log.Append(ctx, 2, true, facts[2]), context.Canceled)
	_, err := s.Open(ctx, "t", session.Header{})
	isErr(t, "open", err, context.Canceled)
	isErr(t, "read", readErr(ctx, s, "s"), context.Canceled)
	_, err = s.List(ctx)
	isErr(t, "list", err, context.Canceled)
	isErr(t, "fork", session.Fork(ctx, s, "s", "t", 0), context.Canceled)
	if d, ok := s.(deleter); ok {
		isErr(t, "delete", d.Delete(ctx, "s"), context.Canceled)
	}
	if infos := infos(t, s); len(infos) != 1 {
		t.Errorf("%d sessions, want 1", len(infos))
	}
	same(t, "s", read(t, s, "s", 0), facts[:2])
	add(t, log, facts[2])

	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	n, last := 0, error(nil)
	for _, err := range s.Read(ctx, "s", 0) {
		if last = err; err == nil {
			n++
		}
		cancel()
	}
	if n != 1 || !errors.Is(last, context.Canceled) {
		t.Errorf("read %d facts after a cancel, error %v", n-1, last)
	}
}

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
	notice := event.UserMessage{ID: "n", Delivery: event.AsNotice, Message: llm.UserText("a notice")}
	long := strings.Repeat("é", 300)
	for id, facts := range map[string][]event.Event{
		"one":   list(event.Configured{Model: "m", System: strings.Repeat("s", 40<<10)}, notice, prompt("  first\nsecond"), prompt("later")),
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
		got[i].Size = 0
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
		if want := (session.Point{Session: "source", Seq: through}); info.Parent == nil || *info.Parent != want || info.Dir != "/work" {
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
	isErr(t, "deleting a session in use", d.Delete(t.Context(), "s"), session.ErrSessionBusy)
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
