package teamstore_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/internal/teamstore"
)

// TestLeases: a program that lives keeps its tasks, one that dies loses them, and
// one that ends a session gives them back.
func TestLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &teamstore.Memory{}
		l := &teamstore.Leases{List: store, For: time.Minute}
		defer l.Close()
		ann, bob := "ann", "bob"
		if _, err := l.AddTask(t.Context(), "s", teamstore.Task{Subject: "a", Status: teamstore.InProgress, Owner: ann}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := l.AddTask(t.Context(), "s", teamstore.Task{Subject: "b"}); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := teamstore.Claim(t.Context(), l, "s", ann, 0); err != nil || !got.LeaseUntil.Equal(time.Now().Add(time.Minute)) {
			t.Fatalf("%+v, %v", got, err)
		}
		// Another program's, which dies.
		if _, err := teamstore.Claim(t.Context(), store, "s", bob, time.Minute); err != nil {
			t.Fatal(err)
		}
		text := "what others say of it does not make it ours"
		if _, err := l.UpdateTask(t.Context(), "s", "task_3", teamstore.Change{Description: &text}); err != nil {
			t.Fatal(err)
		}
		owners := func() (list []string) {
			t.Helper()
			tasks, err := store.Tasks(t.Context(), "s", teamstore.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range tasks {
				list = append(list, string(x.Status)+" "+x.Owner)
			}
			return list
		}
		expect := func(when string, want ...string) {
			t.Helper()
			for i, got := range owners() {
				if got != want[i] {
					t.Errorf("%s: task_%d is %s, want %s", when, i+1, got, want[i])
				}
			}
		}
		expect("at first", "in_progress ann", "in_progress ann", "in_progress bob", "pending ")
		time.Sleep(10 * time.Minute)
		expect("after ten minutes", "in_progress ann", "in_progress ann", "pending ", "pending ")
		if _, err := l.UpdateTask(t.Context(), "s", "task_1", teamstore.Change{Status: teamstore.Completed, Holder: ann}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.UpdateTask(t.Context(), "s", "task_2", teamstore.Change{Owner: &bob}); err != nil { // handed over
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		expect("handed over", "completed ann", "in_progress bob", "pending ", "pending ")
		if err := l.EndSession("other"); err != nil {
			t.Fatal(err)
		}
		expect("another session's end", "completed ann", "in_progress bob", "pending ", "pending ")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		expect("the end", "completed ann", "pending ", "pending ", "pending ")
		// Its renewing has ended, and begins again when need be.
		if _, err := teamstore.Claim(t.Context(), l, "s", ann, 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		expect("once more", "completed ann", "in_progress ann", "pending ", "pending ")
		if _, err := store.UpdateTask(t.Context(), "s", "task_2", teamstore.Change{Owner: &bob, Lease: time.Hour, Status: ""}); err != nil { // by another program
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		expect("taken by another program", "completed ann", "pending ", "pending ", "pending ")
		if err := l.EndSession("s"); err != nil {
			t.Fatal(err)
		}
		if got := owners(); got != nil {
			t.Errorf("the store was not told of the end: %v", got)
		}
	})
}

func TestRelease(t *testing.T) {
	m := &teamstore.Memory{}
	for _, owner := range []string{"ann", "bob", "ann"} {
		if _, err := m.AddTask(t.Context(), "s", teamstore.Task{Subject: "x", Status: teamstore.InProgress, Owner: owner}); err != nil {
			t.Fatal(err)
		}
	}
	done := teamstore.Completed
	if _, err := m.UpdateTask(t.Context(), "s", "task_3", teamstore.Change{Status: done}); err != nil {
		t.Fatal(err)
	}
	freed, err := teamstore.Release(t.Context(), m, "s", "ann")
	if err != nil || len(freed) != 1 || freed[0].ID != "task_1" {
		t.Errorf("freed %+v, %v", freed, err)
	}
	if got, err := teamstore.Claim(t.Context(), m, "s", "carl", 0); err != nil || got.ID != "task_1" {
		t.Errorf("claimed %+v, %v", got, err)
	}
	if _, err := teamstore.Claim(t.Context(), m, "s", "carl", 0); !errors.Is(err, teamstore.ErrNone) {
		t.Errorf("a task of another is free: %v", err)
	}
}
