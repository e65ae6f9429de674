package teamstore_test

import (
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/internal/teamtest"
)

// BenchmarkLook reads a task that has not changed.
func BenchmarkLook(b *testing.B) {
	stores(b, func(b *testing.B, s teamtest.Store) {
		if _, err := s.AddTask(b.Context(), "s", teamstore.Task{Subject: "x"}); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := s.Task(b.Context(), "s", "task_1"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRenew renews the lease of a task.
func BenchmarkRenew(b *testing.B) {
	stores(b, func(b *testing.B, s teamtest.Store) {
		if _, err := s.AddTask(b.Context(), "s", teamstore.Task{Subject: "x"}); err != nil {
			b.Fatal(err)
		}
		ann := "ann"
		for b.Loop() {
			if _, err := s.UpdateTask(b.Context(), "s", "task_1", teamstore.Change{Status: teamstore.InProgress, Owner: &ann, Lease: time.Minute}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkMail sends a message and takes it out.
func BenchmarkMail(b *testing.B) {
	stores(b, func(b *testing.B, s teamtest.Store) {
		if _, err := s.CreateTeam(b.Context(), "s", "red", "lead", []string{"ann"}, ""); err != nil {
			b.Fatal(err)
		}
		keep := func([]teamstore.Message) error { return nil }
		for b.Loop() {
			if _, err := s.Send(b.Context(), "s", teamstore.Message{From: "lead", To: "ann", Content: "x"}); err != nil {
				b.Fatal(err)
			}
			if err := s.Take(b.Context(), "s", "ann", keep); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func stores(b *testing.B, run func(b *testing.B, s teamtest.Store)) {
	b.Run("memory", func(b *testing.B) { run(b, &teamstore.Memory{}) })
	b.Run("dir", func(b *testing.B) {
		d := &teamstore.Dir{Path: b.TempDir()}
		run(b, d)
		if err := d.Close(); err != nil {
			b.Error(err)
		}
	})
}
