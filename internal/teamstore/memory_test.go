package teamstore_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/internal/teamtest"
)

func TestMemory(t *testing.T) {
	teamtest.Run(t, func(_ *testing.T, clock *teamtest.Clock) teamtest.Store { return &teamstore.Memory{Now: clock.Now} })
}

func TestParseStatus(t *testing.T) {
	for in, want := range map[string]teamstore.Status{
		"pending": teamstore.Pending, "in_progress": teamstore.InProgress, "inProgress": teamstore.InProgress, "in-progress": teamstore.InProgress,
		"IN PROGRESS": teamstore.InProgress, "Completed": teamstore.Completed, "failed": teamstore.Failed, "cancelled": teamstore.Cancelled,
	} {
		if got, err := teamstore.ParseStatus(in); err != nil || got != want {
			t.Errorf("%q: got %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "done", "inprogres", strings.Repeat("x", 1000)} {
		if _, err := teamstore.ParseStatus(in); err == nil || len(err.Error()) > 300 {
			t.Errorf("%.20q: error %v", in, err)
		}
	}
}

// The zero value goes by the clock of the program.
func TestMemoryClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m teamstore.Memory
		if _, err := m.AddTask(t.Context(), "s", teamstore.Task{Subject: "x"}); err != nil {
			t.Fatal(err)
		}
		if _, err := teamstore.Claim(t.Context(), &m, "s", "ann", time.Hour); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if got, err := m.Task(t.Context(), "s", "task_1"); err != nil || got.Status != teamstore.Pending {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestMemoryBox(t *testing.T) {
	m := &teamstore.Memory{Box: 2}
	if _, err := m.CreateTeam(t.Context(), "s", "red", "lead", []string{"ann"}, ""); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		_, err := m.Send(t.Context(), "s", teamstore.Message{From: "lead", To: "ann", Content: "x"})
		if full := errors.Is(err, teamstore.ErrBoxFull); full != (i == 2) {
			t.Errorf("message %d: %v", i+1, err)
		}
	}
}

func TestMemoryEndSession(t *testing.T) {
	m := &teamstore.Memory{}
	for _, space := range []string{"a", "b"} {
		if _, err := m.AddTask(t.Context(), space, teamstore.Task{Subject: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.EndSession("a"); err != nil {
		t.Fatal(err)
	}
	for space, want := range map[string]int{"a": 0, "b": 1} {
		if got, err := m.Tasks(t.Context(), space, teamstore.Filter{}); err != nil || len(got) != want {
			t.Errorf("%s: %+v, %v", space, got, err)
		}
	}
}
