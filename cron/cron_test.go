package cron_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/openagent-go/agent/cron"
)

func TestStore(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	path := filepath.Join(dir, "jobs.json")
	for name, s := range map[string]*cron.Store{"memory": cron.Memory(), "file": cron.File(path)} {
		want := cron.Job{Name: "n", Schedule: "30 9 * * *", Zone: "Asia/Tokyo", Command: "ls", Dir: dir, Missed: "all"}
		j, err := s.Add(ctx, want)
		want.ID, want.Next = j.ID, j.Next
		if err != nil || j != want || j.ID == "" || time.Until(j.Next) <= 0 || time.Until(j.Next) > 25*time.Hour {
			t.Fatal(name, j, err)
		}
		if _, err := s.Add(ctx, cron.Job{Name: "n", Schedule: "61 * * * *", Prompt: "p", Dir: dir}); err == nil {
			t.Error(name, "takes a minute 61")
		}
		if err := s.Enable(ctx, j.ID, false); err != nil {
			t.Error(name, err)
		}
		if all, err := s.Jobs(ctx); err != nil || len(all) != 1 || all[0].ID != j.ID || !all[0].Disabled || !all[0].Next.IsZero() {
			t.Error(name, all, err)
		}
		if err := s.Remove(ctx, j.ID); err != nil {
			t.Error(name, err)
		}
		if err := s.Remove(ctx, j.ID); !errors.Is(err, cron.ErrNotFound) {
			t.Error(name, err)
		}
	}
	if err := os.WriteFile(path, []byte("{torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := cron.File(path).Jobs(ctx); !errors.Is(err, cron.ErrUnreadable) {
		t.Error(err)
	}
}

// A trigger has one schedule, which is replaced and removed with its id.
func TestScheduleOfTrigger(t *testing.T) {
	ctx, s := t.Context(), cron.Memory()
	own := cron.Job{Name: "n", Schedule: "@daily", Trigger: "t1", Dir: t.TempDir()}
	first, err := s.Add(ctx, own)
	if err != nil {
		t.Fatal(err)
	}
	own.Schedule = "@hourly"
	if second, err := s.Add(ctx, own); err != nil || second.ID != first.ID {
		t.Error(second, err)
	}
	if err := s.Remove(ctx, first.ID); err == nil {
		t.Error("the schedule of a trigger was removed")
	}
	own.Schedule = ""
	if _, err := s.Add(ctx, own); err != nil {
		t.Error(err)
	}
	if all, err := s.Jobs(ctx); err != nil || len(all) != 0 {
		t.Error(all, err)
	}
}
