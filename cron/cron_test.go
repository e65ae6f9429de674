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
		"one line of":          func(j *cron.Job) { j.Name = "a\x1b[2J" },
		"exactly one of":       func(j *cron.Job) { j.Command = "ls" },
		"of a prompt and":      func(j *cron.Job) { j.Prompt = "\n" },
		"at most 64 KB":        func(j *cron.Job) { j.Prompt = strings.Repeat("x", 65<<10) },
		"neither a prompt":     func(j *cron.Job) { j.Trigger = "t" },
		"not valid text":       func(j *cron.Job) { j.Prompt = "a\x00b" },
		`missed is "maybe"`:    func(j *cron.Job) { j.Missed = "maybe" },
		"an absolute path":     func(j *cron.Job) { j.Dir = "here" },
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
// The schedule of a trigger is one job, which changes with the trigger alone.
func TestPut(t *testing.T) {
	store := new(cron.Memory)
	put := func(schedule string, change func(*cron.Job)) []cron.Job {
		t.Helper()
		j := cron.Job{Name: "n", Schedule: schedule, Trigger: "t", Dir: t.TempDir()}
		if change != nil {
			change(&j)
		}
		if _, err := cron.Put(t.Context(), store, j); err != nil {
			t.Fatal(err)
		}
		jobs, err := store.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return jobs
	}
	if jobs := put("", nil); len(jobs) != 0 {
		t.Errorf("%+v", jobs)
	}
	first := put("@every 1h", nil)
	if len(first) != 1 || first[0].Next(time.Now()).IsZero() {
		t.Fatalf("%+v", first)
	}
	id := first[0].ID
	past := []cron.Outcome{{Status: cron.Done}}
	ticked := time.Now().Add(-time.Minute).UTC().Round(0)
	err := store.Update(t.Context(), func(jobs []cron.Job) ([]cron.Job, error) {
		jobs[0].Past, jobs[0].Ticked, jobs[0].Created = past, ticked, ticked.Add(-time.Hour)
		return jobs, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	same := put("@every 1h", func(j *cron.Job) { j.Name = "other" })[0]
	if same.ID != id || same.Name != "other" || len(same.Past) != 1 || !same.Ticked.Equal(ticked) {
		t.Errorf("%+v", same)
	}
	if off := put("@every 1h", func(j *cron.Job) { j.Disabled = true })[0]; !off.Next(time.Now()).IsZero() || !off.Ticked.Equal(ticked) {
		t.Errorf("%+v", off)
	}
	if on := put("@every 1h", nil)[0]; on.Due(time.Now()) || on.Ticked.Equal(ticked) {
		t.Errorf("what was missed while it was off is made up for: %+v", on)
	}
	if other := put("@every 2h", nil)[0]; other.ID != id || !other.Ticked.IsZero() || time.Since(other.Created) > time.Hour/2 || len(other.Past) != 1 {
		t.Errorf("%+v", other)
	}
	if _, err := cron.Remove(t.Context(), store, id); !errors.Is(err, cron.ErrOfTrigger) || !strings.Contains(err.Error(), "(t)") {
		t.Error(err)
	}
	if _, err := cron.Enable(t.Context(), store, id, false); !errors.Is(err, cron.ErrOfTrigger) {
		t.Error(err)
	}
	for _, bad := range []cron.Job{{Name: "n", Schedule: "@daily", Dir: t.TempDir()}, {Name: "n", Schedule: "daily", Trigger: "t", Dir: t.TempDir()}} {
		if _, err := cron.Put(t.Context(), store, bad); err == nil {
			t.Errorf("%+v was put", bad)
		}
	}
	if jobs := put("", nil); len(jobs) != 0 {
		t.Errorf("%+v", jobs)
	}
}

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
