package teamstore_test

import (
	"errors"
	"os"
	"testing"

	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/internal/teamtest"
)

// TestMailbox10000: a sender of ten thousand messages to an agent that does not read gets
// an error when the mailbox is full, and another when the agent is gone; the files stay
// small.
func TestMailbox10000(t *testing.T) {
	t.Parallel()
	dir := open(t, &teamstore.Dir{Path: t.TempDir(), Box: 100})
	for name, x := range map[string]struct {
		store teamtest.Store
		box   int
	}{"memory": {&teamstore.Memory{}, teamstore.MaxBox}, "dir": {dir, 100}} {
		s := x.store
		if _, err := s.CreateTeam(t.Context(), "s", "red", "lead", []string{"ann", "bob"}, ""); err != nil {
			t.Fatal(err)
		}
		if err := s.Register(t.Context(), "s", teamstore.Agent{Name: "ann"}); err != nil {
			t.Fatal(err)
		}
		sent := 0
		for range 10_000 {
			_, err := s.Send(t.Context(), "s", teamstore.Message{From: "lead", To: "ann", Content: "x"})
			if err == nil {
				sent++
			} else if !errors.Is(err, teamstore.ErrBoxFull) {
				t.Fatal(err)
			}
		}
		if sent != x.box {
			t.Errorf("%s: the mailbox took %d messages", name, sent)
		}
		if err := s.Unregister(t.Context(), "s", "ann"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Send(t.Context(), "s", teamstore.Message{From: "lead", To: "ann", Content: "x"}); !errors.Is(err, teamstore.ErrUnreachable) {
			t.Errorf("%s: to an agent that is gone: %v", name, err)
		}
		if _, err := s.Send(t.Context(), "s", teamstore.Message{From: "lead", To: "bob", Content: "x"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if info, err := os.Stat(journal(dir, "s")); err != nil || info.Size() > 100_000 {
		t.Errorf("the journal has %d bytes, %v", info.Size(), err)
	}
}
