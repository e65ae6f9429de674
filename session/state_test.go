package session_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// A session whose summary has no state, as older programs wrote it, gets one from the
// journal, once.
func TestStateOfAnOldSummary(t *testing.T) {
	store := session.Folder{Path: t.TempDir()}
	prompt := event.UserMessage{ID: "m", Delivery: fact.AsPrompt, Message: llm.UserText("go")}
	if err := session.Create(t.Context(), store, session.Header{Session: "s"}, []event.Event{{Seq: 1, Time: time.Unix(1, 0), Data: prompt}}); err != nil {
		t.Fatal(err)
	}
	about := filepath.Join(store.Path, "s", "about.json")
	for _, old := range []bool{true, false} {
		if old {
			data, err := os.ReadFile(about)
			if err != nil {
				t.Fatal(err)
			}
			before, _, ok := strings.Cut(string(data), `,"progress":`)
			if !ok {
				t.Fatalf("the summary is %s", data)
			}
			if err := os.WriteFile(about, sealed(before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		info, err := store.Stat(t.Context(), "s")
		if err != nil || info.State != session.StateUnfinished || info.Prompt != "go" {
			t.Errorf("%+v, %v", info, err)
		}
		data, err := os.ReadFile(about)
		if err != nil || !strings.Contains(string(data), `"progress":{"open":true}`) || strings.Contains(string(data), `"state"`) {
			t.Errorf("the summary is %s, %v", data, err)
		}
	}
}

// sealed closes a summary that someone else has written.
func sealed(summary string) []byte { return []byte(strings.TrimSpace(session.Seal(summary))) }

// BenchmarkList100k lists 100,000 sessions, each with its state. One in a hundred has an open
// run.
func BenchmarkList100k(b *testing.B) {
	store := session.Folder{Path: b.TempDir()}
	const n = 100_000
	prompt := event.UserMessage{ID: "m", Delivery: fact.AsPrompt, Message: llm.UserText(strings.Repeat("words ", 300))}
	facts := []event.Event{{Seq: 1, Time: time.Unix(1, 0), Data: prompt}}
	id := "session-000000"
	if err := session.Create(b.Context(), store, session.Header{Session: id, Dir: "/home/me/project", Branch: "main"}, facts); err != nil {
		b.Fatal(err)
	}
	about, err := os.ReadFile(filepath.Join(store.Path, id, "about.json"))
	if err != nil {
		b.Fatal(err)
	}
	journal, err := os.ReadFile(store.Journal(id))
	if err != nil {
		b.Fatal(err)
	}
	line, _, _ := strings.Cut(string(about), `,"crc"`)
	idle := strings.Replace(line, `"open":true`, `"open":false`, 1)
	for i := range n { // making them by their facts would take minutes
		other := fmt.Sprintf("session-%06d", i)
		folder := filepath.Join(store.Path, other)
		err := os.MkdirAll(folder, 0o700)
		line := line
		if i%100 != 0 {
			line = idle
		}
		for name, data := range map[string][]byte{"about.json": sealed(strings.ReplaceAll(line, id, other)), "journal.jsonl": journal, "lock": nil} {
			err = errors.Join(err, os.WriteFile(filepath.Join(folder, name), data, 0o600))
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		list, err := store.List(b.Context())
		if err != nil || len(list) != n || list[n-1].State != session.StateUnfinished {
			b.Fatal(len(list), err)
		}
	}
}
