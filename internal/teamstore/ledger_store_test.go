package teamstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/internal/teamtest"
)

func TestLedgerStore(t *testing.T) {
	teamtest.Run(t, func(_ *testing.T, clock *teamtest.Clock) teamtest.Store {
		return &teamstore.LedgerStore{Ledger: teamtest.ByClock(&teamtest.Ledger{}, clock)}
	})
}

func TestMemoryLedger(t *testing.T) {
	l := &teamtest.Ledger{}
	teamtest.RunLedger(t, func(*testing.T) (teamstore.Ledger, func()) { return l, nil })
}

func TestSharedLedger(t *testing.T) {
	l := &teamtest.Ledger{}
	teamtest.RunShared(t, func(t *testing.T) (teamtest.Store, func()) {
		s := &teamstore.LedgerStore{Ledger: l}
		t.Cleanup(func() { _ = s.Close() })
		return s, nil
	})
}

// A long team stays small: what it has done is replaced by what it has.
func TestLedgerCompaction(t *testing.T) {
	l := &teamtest.Ledger{}
	s := &teamstore.LedgerStore{Ledger: l}
	for n := range 200 {
		output := strings.Repeat("x", 10_000)
		if _, err := s.AddTask(t.Context(), "s", teamstore.Task{Subject: fmt.Sprint(n), Output: output}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.UpdateTask(t.Context(), "s", "task_1", teamstore.Change{Output: &output}); err != nil {
			t.Fatal(err)
		}
		if n == 20 {
			if err := s.EndSession("s"); err != nil { // forgets all but the lines
				t.Fatal(err)
			}
		}
	}
	lines, _, _, err := l.Read(t.Context(), "s", "")
	if size := len(strings.Join(lines, "")); err != nil || size > 4*200*10_200 {
		t.Errorf("4 MB were written, %d bytes are there, %v", size, err)
	}
	if err := s.EndSession("s"); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Tasks(t.Context(), "s", teamstore.Filter{}); err != nil || len(all) != 200 || all[199].Subject != "199" {
		t.Errorf("%d tasks, %v", len(all), err)
	}
}

// A program that stood still while it read its mail removes nothing that it has not read.
func TestLedgerTakeLost(t *testing.T) {
	l := &teamtest.Ledger{}
	one, two := &teamstore.LedgerStore{Ledger: unlocked{l}}, &teamstore.LedgerStore{Ledger: unlocked{l}}
	send := func(id string) {
		t.Helper()
		if _, err := one.Send(t.Context(), "s", teamstore.Message{ID: id, From: "ann", To: "lead", Content: id}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := one.CreateTeam(t.Context(), "s", "red", "lead", []string{"ann"}, ""); err != nil {
		t.Fatal(err)
	}
	send("1")
	send("2")
	var got []string
	take := func(s *teamstore.LedgerStore, then func()) {
		t.Helper()
		err := s.Take(t.Context(), "s", "lead", func(mail []teamstore.Message) error {
			for _, m := range mail {
				got = append(got, m.ID)
			}
			then()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	take(one, func() { // it stands still here, for longer than its lock holds
		take(two, func() {})
		send("3")
		send("4")
	})
	take(two, func() {})
	if want := "1 2 1 2 3 4"; strings.Join(got, " ") != want {
		t.Errorf("read %q, want %q", got, want)
	}
}

// unlocked is a ledger whose locks are lost at once.
type unlocked struct{ teamstore.Ledger }

func (unlocked) Lock(context.Context, string) (func(), error) { return func() {}, nil }

// A ledger whose lines are of a newer version, or are damaged, is not written to.
func TestLedgerDamaged(t *testing.T) {
	for line, want := range map[string]string{
		`{"do":"dance"}`: "newer version",
		`no JSON`:        "invalid character",
		`{"do":"taken","act":{"agent":"ann","count":1}}`:                                    "does not hold 1 messages",
		`{"do":"had_task","act":{"task":{"id":"task_1","subject":"x","status":"pending"}}}`: "not complete",
	} {
		l := &teamtest.Ledger{}
		if _, err := l.Write(t.Context(), "s", "", func([]string, time.Time) ([]string, bool, error) { return []string{line}, false, nil }); err != nil {
			t.Fatal(err)
		}
		s := &teamstore.LedgerStore{Ledger: l}
		_, read := s.Tasks(t.Context(), "s", teamstore.Filter{})
		_, written := s.AddTask(t.Context(), "s", teamstore.Task{Subject: "x"})
		for _, err := range []error{read, written} {
			if errors.Is(err, teamstore.ErrDamaged) == (want == "newer version") || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `space "s"`) {
				t.Errorf("%s: %v", line, err)
			}
		}
		if lines, _, _, _ := l.Read(t.Context(), "s", ""); len(lines) != 1 {
			t.Errorf("%s: there are %d lines", line, len(lines))
		}
	}
}

// The store of a ledger gives tasks leases, by the time of the ledger.
func TestOpenLedger(t *testing.T) {
	clock := &teamtest.Clock{}
	clock.Advance(24 * time.Hour)
	s := teamstore.OpenLedger(teamtest.ByClock(&teamtest.Ledger{}, clock))
	made, err := s.Shared().AddTask(t.Context(), "s", teamstore.Task{Subject: "x", Status: teamstore.InProgress, Owner: "ann"})
	if want := clock.Now().Add(teamstore.DefaultLease); err != nil || !made.LeaseUntil.Equal(want) {
		t.Errorf("lease until %v, want %v; %v", made.LeaseUntil, want, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Shared().Task(t.Context(), "s", made.ID); err != nil || got.Status != teamstore.Pending {
		t.Errorf("after the end of the program: %+v, %v", got, err)
	}
}

func TestSharedDir(t *testing.T) {
	path := t.TempDir()
	teamtest.RunShared(t, func(t *testing.T) (teamtest.Store, func()) {
		d := &teamstore.Dir{Path: path}
		t.Cleanup(func() { _ = d.Close() })
		return d, nil
	})
}

// TestLedgerCopy copies the tasks and teams of a session for its fork.
func TestLedgerCopy(t *testing.T) {
	ledger := &teamtest.Ledger{}
	s := teamstore.OpenLedger(ledger)
	defer s.Close()
	all := s.Shared()
	for _, x := range []teamstore.Task{{Subject: "a", Status: teamstore.Completed}, {Subject: "b", Status: teamstore.InProgress, Owner: "ann", BlockedBy: []string{"task_1"}}} {
		if _, err := all.AddTask(t.Context(), "s", x); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := all.CreateTeam(t.Context(), "s", "red", "lead", []string{"ann"}, ""); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Copy(t.Context(), "s", "copy"), s.Copy(t.Context(), "none", "other")); err != nil {
		t.Fatal(err)
	}
	if err := s.Copy(t.Context(), "s", "copy"); !errors.Is(err, teamstore.ErrInvalid) {
		t.Errorf("copying over a copy: %v", err)
	}
	again := &teamstore.LedgerStore{Ledger: ledger} // another program
	if got, err := teamstore.Claim(t.Context(), again, "copy", "bob", 0); err != nil || got.ID != "task_2" {
		t.Errorf("claimed in the copy: %+v, %v", got, err)
	}
	if got, err := again.Task(t.Context(), "s", "task_2"); err != nil || got.Owner != "ann" {
		t.Errorf("the original has %+v, %v", got, err)
	}
	if got, err := again.TeamOf(t.Context(), "copy", "ann"); err != nil || got.Name != "red" {
		t.Errorf("the team of the copy is %+v, %v", got, err)
	}
}
