package session_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// A read of the facts after any number finds them, near the end of a long journal, far from
// it, and with an unfinished record behind them.
func TestReadFromAnyFact(t *testing.T) {
	t.Parallel()
	store := session.Folder{Path: t.TempDir()}
	log, err := store.Open(t.Context(), "s", session.Header{})
	if err != nil {
		t.Fatal(err)
	}
	const n = 200
	for i := int64(1); i <= n; i++ {
		text := strings.Repeat("x", int(i*37%9000)) // 0.9 MB together
		e := event.Event{Seq: i, Prev: i - 1, Time: time.Unix(i, 0), Data: event.UserMessage{ID: "m", Delivery: fact.AsSteer, Message: llm.UserText(text)}}
		if err := log.Append(t.Context(), i-1, false, e); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	check := func(after, want int64) {
		t.Helper()
		next := after + 1
		for e, err := range store.Read(t.Context(), "s", after) {
			if err != nil || e.Seq != next || !e.Time.Equal(time.Unix(next, 0)) {
				t.Fatalf("after %d: fact %d of %v, %v; want %d", after, e.Seq, e.Time, err, next)
			}
			next++
		}
		if next-1 != max(want, after) {
			t.Fatalf("after %d: read up to %d, want %d", after, next-1, want)
		}
	}
	for after := range int64(n + 2) {
		check(after, n)
	}
	journal := store.Journal("s")
	whole, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	for _, torn := range []string{`{"seq":201,"pr`, "\x00\x00\x00"} {
		if err := os.WriteFile(journal, append(whole[:len(whole):len(whole)], torn...), 0o600); err != nil {
			t.Fatal(err)
		}
		for after := range int64(n + 2) {
			check(after, n)
		}
	}
	damaged := []byte(strings.Replace(string(whole), `{"seq":199,`, `{"seq":198,`, 1))
	if err := os.WriteFile(journal, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, err = range store.Read(t.Context(), "s", 197) {
	}
	if err == nil || !strings.Contains(err.Error(), "line 200") {
		t.Errorf("damage after the fact: %v", err)
	}
}
