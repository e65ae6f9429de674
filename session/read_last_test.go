package session_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// chat returns n facts: messages of growing size, with other facts between them.
func chat(n int) []event.Event {
	var out []event.Event
	for i := range n {
		var d event.Fact = event.UserMessage{ID: fmt.Sprint(i), Delivery: fact.AsPrompt, Message: llm.UserText(strings.Repeat("x", i%3000))}
		if i%4 == 3 {
			d = fact.Waited{Key: fmt.Sprint(i)}
		}
		out = append(out, event.Event{Seq: int64(i) + 1, Prev: int64(i), Data: d})
	}
	return out
}

func TestLast(t *testing.T) {
	facts := chat(500)
	for name, store := range map[string]session.Store{"memory": session.Memory(), "dir": session.Folder{Path: t.TempDir()}} {
		t.Run(name, func(t *testing.T) {
			log, err := store.Open(t.Context(), "s", session.Header{})
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			if last, err := session.Last(t.Context(), store, "s", 5, nil); err != nil || len(last) != 0 {
				t.Errorf("of an empty session: %v, %v", last, err)
			}
			if err := log.Append(t.Context(), 0, false, facts...); err != nil {
				t.Fatal(err)
			}
			for _, n := range []int{0, 1, 7, 400, 500, 9000} {
				for _, keep := range []func(string) bool{nil, session.IsMessage} {
					var want []int64
					for _, e := range facts {
						if keep == nil || keep(event.Type(e.Data)) {
							want = append(want, e.Seq)
						}
					}
					want = want[max(0, len(want)-n):]
					last, err := session.Last(t.Context(), store, "s", n, keep)
					if err != nil {
						t.Fatal(err)
					}
					var got []int64
					for _, e := range last {
						got = append(got, e.Seq)
					}
					if fmt.Sprint(got) != fmt.Sprint(want) {
						t.Errorf("the last %d are %v, want %v", n, got, want)
					}
				}
			}
			if _, err := session.Last(t.Context(), store, "nope", 1, nil); !errors.Is(err, session.ErrNotFound) {
				t.Errorf("of no session: %v", err)
			}
		})
	}
}

// An unfinished last record is not there; a damaged one before is reported.
func TestLastDamaged(t *testing.T) {
	dir := t.TempDir()
	store := session.Folder{Path: dir}
	log, err := store.Open(t.Context(), "s", session.Header{})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Append(t.Context(), 0, false, chat(20)...); err != nil {
		t.Fatal(err)
	}
	log.Close()
	file := filepath.Join(dir, "s", "journal.jsonl")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(data []byte) {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(whole[:len(whole)-5])
	if last, err := store.Last(t.Context(), "s", 2, nil); err != nil || len(last) != 2 || last[1].Seq != 19 {
		t.Errorf("with a torn end: %v, %v", last, err)
	}
	damaged := []byte(string(whole))
	at := strings.Index(string(whole), `"seq":18`)
	damaged[at+40] ^= 1
	write(damaged)
	if _, err := store.Last(t.Context(), "s", 10, nil); session.DamagedLine(err) != 19 {
		t.Errorf("with a damaged middle: %v", err)
	}
	if last, err := store.Last(t.Context(), "s", 2, nil); err != nil || len(last) != 2 {
		t.Errorf("what comes after the damage: %v, %v", last, err)
	}
}

func BenchmarkLast(b *testing.B) {
	store := session.Folder{Path: b.TempDir()}
	log, err := store.Open(b.Context(), "s", session.Header{})
	if err != nil {
		b.Fatal(err)
	}
	if err := log.Append(b.Context(), 0, false, chat(13_334)...); err != nil { // 10,000 messages
		b.Fatal(err)
	}
	log.Close()
	b.ReportAllocs()
	for b.Loop() {
		if last, err := store.Last(b.Context(), "s", 50, session.IsMessage); err != nil || len(last) != 50 {
			b.Fatal(err)
		}
	}
}
