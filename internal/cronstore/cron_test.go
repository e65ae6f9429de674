package cronstore_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/cronstore"
)

func TestCheck(t *testing.T) {
	good := cronstore.Job{Name: "n", Schedule: "@daily", Prompt: "p", Dir: t.TempDir()}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*cronstore.Job){
		"no name":              func(j *cronstore.Job) { j.Name = " " },
		"more than 100":        func(j *cronstore.Job) { j.Name = strings.Repeat("ä", 101) },
		"one line of":          func(j *cronstore.Job) { j.Name = "a\x1b[2J" },
		"exactly one of":       func(j *cronstore.Job) { j.Command = "ls" },
		"of a prompt and":      func(j *cronstore.Job) { j.Prompt = "\n" },
		"at most 64 KB":        func(j *cronstore.Job) { j.Prompt = strings.Repeat("x", 65<<10) },
		"neither a prompt":     func(j *cronstore.Job) { j.Trigger = "t" },
		"not valid text":       func(j *cronstore.Job) { j.Prompt = "a\x00b" },
		`missed is "maybe"`:    func(j *cronstore.Job) { j.Missed = "maybe" },
		"an absolute path":     func(j *cronstore.Job) { j.Dir = "here" },
		"five fields":          func(j *cronstore.Job) { j.Schedule = "daily" },
		"no time zone":         func(j *cronstore.Job) { j.Zone = "Mars" },
		"the minute \"61\" is": func(j *cronstore.Job) { j.Schedule = "61 * * * *" },
	} {
		j := good
		change(&j)
		if err := j.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err := cronstore.Add(t.Context(), new(cronstore.Memory), j); err == nil {
			t.Errorf("a job was added: %s", want)
		}
	}
}

func TestAddRemove(t *testing.T) {
	store := new(cronstore.Memory)
	a := add(t, store, "a", "@every 1h", "")
	b := add(t, store, "b", "@daily", "")
	if !regexp.MustCompile(`^cron_[a-z0-9]{10}$`).MatchString(a.ID) || a.ID == b.ID {
		t.Errorf("ids %s and %s", a.ID, b.ID)
	}
	if next := a.Next(a.Created); next.Sub(a.Created) != time.Hour {
		t.Error(next)
	}
	if got, err := cronstore.Remove(t.Context(), store, a.ID); err != nil || got.Name != "a" {
		t.Error(got, err)
	}
	if _, err := cronstore.Remove(t.Context(), store, a.ID); !errors.Is(err, cronstore.ErrNotFound) || !strings.Contains(err.Error(), a.ID) {
		t.Error(err)
	}
	if got, err := cronstore.Enable(t.Context(), store, b.ID, false); err != nil || !got.Disabled || !got.Next(time.Now()).IsZero() {
		t.Error(got, err)
	}
	if _, err := cronstore.Enable(t.Context(), store, "none", true); !errors.Is(err, cronstore.ErrNotFound) {
		t.Error(err)
	}
	err := store.Update(t.Context(), func([]cronstore.Job) ([]cronstore.Job, error) {
		return slices.Repeat([]cronstore.Job{b}, cronstore.MaxJobs), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cronstore.Add(t.Context(), store, b); err == nil || !strings.Contains(err.Error(), "1000 jobs") {
		t.Error(err)
	}
}

// A folder's part of a store sees and changes its own jobs alone.
// The schedule of a trigger is one job, which changes with the trigger alone.
func TestPut(t *testing.T) {
	store := new(cronstore.Memory)
	put := func(schedule string, change func(*cronstore.Job)) []cronstore.Job {
		t.Helper()
		j := cronstore.Job{Name: "n", Schedule: schedule, Trigger: "t", Dir: t.TempDir()}
		if change != nil {
			change(&j)
		}
		if _, err := cronstore.Put(t.Context(), store, j); err != nil {
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
	past := []cronstore.Outcome{{Status: cronstore.Done}}
	ticked := time.Now().Add(-time.Minute).UTC().Round(0)
	err := store.Update(t.Context(), func(jobs []cronstore.Job) ([]cronstore.Job, error) {
		jobs[0].Past, jobs[0].Ticked, jobs[0].Created = past, ticked, ticked.Add(-time.Hour)
		return jobs, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	same := put("@every 1h", func(j *cronstore.Job) { j.Name = "other" })[0]
	if same.ID != id || same.Name != "other" || len(same.Past) != 1 || !same.Ticked.Equal(ticked) {
		t.Errorf("%+v", same)
	}
	if off := put("@every 1h", func(j *cronstore.Job) { j.Disabled = true })[0]; !off.Next(time.Now()).IsZero() || !off.Ticked.Equal(ticked) {
		t.Errorf("%+v", off)
	}
	if on := put("@every 1h", nil)[0]; on.Due(time.Now()) || on.Ticked.Equal(ticked) {
		t.Errorf("what was missed while it was off is made up for: %+v", on)
	}
	if other := put("@every 2h", nil)[0]; other.ID != id || !other.Ticked.IsZero() || time.Since(other.Created) > time.Hour/2 || len(other.Past) != 1 {
		t.Errorf("%+v", other)
	}
	if _, err := cronstore.Remove(t.Context(), store, id); !errors.Is(err, cronstore.ErrOfTrigger) || !strings.Contains(err.Error(), "(t)") {
		t.Error(err)
	}
	if _, err := cronstore.Enable(t.Context(), store, id, false); !errors.Is(err, cronstore.ErrOfTrigger) {
		t.Error(err)
	}
	for _, bad := range []cronstore.Job{{Name: "n", Schedule: "@daily", Dir: t.TempDir()}, {Name: "n", Schedule: "daily", Trigger: "t", Dir: t.TempDir()}} {
		if _, err := cronstore.Put(t.Context(), store, bad); err == nil {
			t.Errorf("%+v was put", bad)
		}
	}
	if jobs := put("", nil); len(jobs) != 0 {
		t.Errorf("%+v", jobs)
	}
}

func TestIn(t *testing.T) {
	store := new(cronstore.Memory)
	a, b := add(t, store, "a", "@daily", ""), add(t, store, "b", "@daily", "")
	mine := cronstore.In(store, a.Dir)
	if jobs, err := mine.Load(t.Context()); err != nil || len(jobs) != 1 || jobs[0].ID != a.ID {
		t.Error(jobs, err)
	}
	if _, err := cronstore.Remove(t.Context(), mine, b.ID); !errors.Is(err, cronstore.ErrNotFound) {
		t.Error(err)
	}
	if _, err := cronstore.Add(t.Context(), mine, b); err == nil {
		t.Error("a job of another folder was added")
	}
	if _, err := cronstore.Add(t.Context(), mine, a); err != nil {
		t.Error(err)
	}
	if jobs, _ := store.Load(t.Context()); len(jobs) != 3 {
		t.Error(jobs)
	}
	fail := errors.New("no")
	if err := mine.Update(t.Context(), func([]cronstore.Job) ([]cronstore.Job, error) { return nil, fail }); !errors.Is(err, fail) {
		t.Error(err)
	}
	if err := mine.Update(t.Context(), func([]cronstore.Job) ([]cronstore.Job, error) { return nil, nil }); err != nil {
		t.Error(err)
	}
	if jobs, _ := store.Load(context.Background()); len(jobs) != 1 || jobs[0].ID != b.ID {
		t.Error(jobs)
	}
}
