package agent_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/sessiondir"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
)

// tear leaves the journal of a session as a crash does in the middle of a write.
func tear(t *testing.T, d session.Store, id, rest string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(sessiondir.Path(d), id, "journal.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(rest); err != nil {
		t.Fatal(err)
	}
}

// If an unfinished last record is cut off, this is shown once and logged, also after a
// rewind or a fork.
func TestTornJournalIsTold(t *testing.T) {
	var logs bytes.Buffer
	d := session.Dir(t.TempDir())
	a := &agent.Agent{Model: llmtest.Script(say("one"), say("two"), say("three"), say("four"), say("five"), say("six"), say("seven"), say("eight")), Sessions: d, Log: slog.New(slog.NewTextHandler(&logs, nil))}
	told := func(s *agent.Session) (n int64) {
		t.Helper()
		for e, err := range s.Stream(t.Context(), "go") {
			if err != nil {
				t.Fatal(err)
			}
			if c, ok := e.Data.(event.JournalCut); ok {
				n += c.Bytes
			}
		}
		return n
	}
	s := a.Session("s")
	if n := told(s); n != 0 {
		t.Errorf("%d bytes of a new session are cut off", n)
	}
	s.Close()
	const rest = `{"seq":99,"prev":98,"ti`
	tear(t, d, "s", rest)
	s = a.Session("s")
	if n := told(s); n != int64(len(rest)) || told(s) != 0 {
		t.Errorf("%d bytes are told", n)
	}
	s.Close()
	tear(t, d, "s", rest)
	s = a.Session("s")
	if err := s.Rewind(context.Background(), 3); err != nil {
		t.Fatal(err)
	}
	if n := told(s); n != int64(len(rest)) {
		t.Errorf("rewound: %d bytes are told", n)
	}
	fork, err := s.Fork(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := told(fork); n != 0 {
		t.Errorf("fork: %d bytes are told", n)
	}
	fork.Close()
	s.Close()
	tear(t, d, "s", rest)
	fork, err = a.Session("s").Fork(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := told(fork); n != int64(len(rest)) || told(fork) != 0 {
		t.Errorf("fork of a torn session: %d bytes are told", n)
	}
	fork.Close()
	early, err := a.Session("s").Fork(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if n := told(early); n != 0 {
		t.Errorf("fork of an earlier fact: %d bytes are told", n)
	}
	early.Close()
	if n := strings.Count(logs.String(), "was cut off the journal"); n != 3 {
		t.Errorf("%d records: %s", n, logs.String())
	}
}
