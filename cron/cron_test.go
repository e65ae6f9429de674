package cron_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/cron"
)

func TestCheck(t *testing.T) {
	good := cron.Job{Name: "n", Schedule: "@daily", Prompt: "p", Dir: t.TempDir()}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*cron.Job){
		"no name":              func(j *cron.Job) { j.Name = " " },
		"more than 100":        func(j *cron.Job) { j.Name = strings.Repeat("ä", 101) },
		"in a line":            func(j *cron.Job) { j.Name = "a\x1b[2J" },
		"either a prompt":      func(j *cron.Job) { j.Command = "ls" },
		"one of the two":       func(j *cron.Job) { j.Prompt = "\n" },
		"at most 64 KB":        func(j *cron.Job) { j.Prompt = strings.Repeat("x", 65<<10) },
		"no text":              func(j *cron.Job) { j.Prompt = "a\x00b" },
		`missed is "maybe"`:    func(j *cron.Job) { j.Missed = "maybe" },
		"not absolute":         func(j *cron.Job) { j.Dir = "here" },
		"five fields":          func(j *cron.Job) { j.Schedule = "daily" },
		"no time zone":         func(j *cron.Job) { j.Zone = "Mars" },
		"the minute \"61\" is": func(j *cron.Job) { j.Schedule = "61 * * * *" },
	} {
		j := good
		change(&j)
		if err := j.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err := cron.Add(t.Context(), new(cron.Memory), j); err == nil {
			t.Errorf("a job was added: %s", want)
		}
	}
}

func TestAddRemove(t *testing.T) {
	store := new(cron.Memory)
	a := add(t, store, "a", "@every 1h", "")
	b := add(t, store, "b", "@daily", "")
	if !regexp.MustCompile(`^cron_[a-z0-9]{10}$`).MatchString(a.ID) || a.ID == b.ID {
		t.Errorf("ids %s and %s", a.ID, b.ID)
	}
	if next := a.Next(a.Created); next.Sub(a.Created) != time.Hour {
		t.Error(next)
	}
	if got, err := cron.Remove(t.Context(), store, a.ID); err != nil || got.Name != "a" {
		t.Error(got, err)
	}
	if _, err := cron.Remove(t.Context(), store, a.ID); !errors.Is(err, cron.ErrNotFound) || !strings.Contains(err.Error(), a.ID) {
		t.Error(err)
	}
	if got, err := cron.Enable(t.Context(), store, b.ID, false); err != nil || !got.Disabled || !got.Next(time.Now()).IsZero() {
		t.Error(got, err)
	}
	if _, err := cron.Enable(t.Context(), store, "none", true); !errors.Is(err, cron.ErrNotFound) {
		t.Error(err)
	}
	err := store.Update(t.Context(), func([]cron.Job) ([]cron.Job, error) { return slices.Repeat([]cron.Job{b}, cron.MaxJobs), nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cron.Add(t.Context(), store, b); err == nil || !strings.Contains(err.Error(), "1000 jobs") {
		t.Error(err)
	}
}

// A folder's part of a store sees and changes its own jobs alone.
func TestIn(t *testing.T) {
	store := new(cron.Memory)
	a, b := add(t, store, "a", "@daily", ""), add(t, store, "b", "@daily", "")
	mine := cron.In(store, a.Dir)
	if jobs, err := mine.Load(t.Context()); err != nil || len(jobs) != 1 || jobs[0].ID != a.ID {
		t.Error(jobs, err)
	}
	if _, err := cron.Remove(t.Context(), mine, b.ID); !errors.Is(err, cron.ErrNotFound) {
		t.Error(err)
	}
	if _, err := cron.Add(t.Context(), mine, b); err == nil {
		t.Error("a job of another folder was added")
	}
	if _, err := cron.Add(t.Context(), mine, a); err != nil {
		t.Error(err)
	}
	if jobs, _ := store.Load(t.Context()); len(jobs) != 3 {
		t.Error(jobs)
	}
	fail := errors.New("no")
	if err := mine.Update(t.Context(), func([]cron.Job) ([]cron.Job, error) { return nil, fail }); !errors.Is(err, fail) {
		t.Error(err)
	}
	if err := mine.Update(t.Context(), func([]cron.Job) ([]cron.Job, error) { return nil, nil }); err != nil {
		t.Error(err)
	}
	if jobs, _ := store.Load(context.Background()); len(jobs) != 1 || jobs[0].ID != b.ID {
		t.Error(jobs)
	}
}
