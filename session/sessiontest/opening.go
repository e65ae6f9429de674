package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

func busy(t *testing.T, s session.Store) {
	log := opened(t, s, "s")
	add(t, log, Prompts(1)...)
	_, err := s.Open(t.Context(), "s", session.Header{})
	isErr(t, "second opening", err, session.ErrBusy)
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
	isErr(t, "opening after the old log was closed again", err, session.ErrBusy)
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
					if !errors.Is(err, session.ErrBusy) {
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
