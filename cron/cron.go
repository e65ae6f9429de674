// Package cron runs prompts and commands at set times.
//
// A [Job] says what runs and when, a [Store] keeps the jobs, and a [Scheduler] runs them
// as long as your program lives. Several programs may serve one store. Each tick of a
// job is claimed in the store before it runs, so it runs at most once, even after a
// crash. See the example of [Scheduler].
package cron

import (
	"context"
	"time"

	"github.com/openagent-go/agent/internal/cronstore"
)

// A Job is a prompt or a command that is run, or a trigger that is started, at the
// ticks of a schedule. Exactly one of Prompt, Command and Trigger is set.
type Job struct {
	ID string `json:"id"` // given by [Store.Add], safe in file names and command lines
	// Name is one line of at most 100 characters.
	Name string `json:"name"`
	// Schedule is the five fields of crontab(5) ("30 9 * * mon-fri"), a word such as @daily,
	// or "@every" with a duration of Go ("@every 90m"), which counts from when the job was
	// added.
	//
	// Where the days of the month and of the week are both limited, either is enough. Where
	// clocks change, a schedule whose hour is "*" goes by the time that passes. Any other runs
	// once for each time that it names: what is skipped runs when the gap ends, and what comes
	// twice the first time.
	Schedule string `json:"schedule"`
	// Zone is a name of the IANA time zone database; "": the zone of this process. The schedule
	// may say it itself, as in "CRON_TZ=Europe/Berlin 30 9 * * *".
	Zone    string `json:"zone,omitempty"`
	Prompt  string `json:"prompt,omitempty"`  // at most 64 KB
	Command string `json:"command,omitempty"` // at most 64 KB
	Trigger string `json:"trigger,omitempty"` // the id of the trigger whose schedule this is
	Dir     string `json:"dir"`               // folder to work in, absolute
	// Missed says what to do with ticks that no program fired in time. "once", the default: one
	// run makes up for all of them. "skip": they are left out. "all": each is run, one after
	// the other, the latest 100 at most.
	Missed   string `json:"missed,omitempty"`
	Disabled bool   `json:"disabled,omitempty"` // it does not run
	// Next is the next tick. The store sets it. It is zero for a job that is disabled or cannot
	// run.
	Next time.Time `json:"next,omitzero"`
}

func (j Job) inner() cronstore.Job {
	return cronstore.Job{ID: j.ID, Name: j.Name, Schedule: j.Schedule, Zone: j.Zone, Prompt: j.Prompt, Command: j.Command, Trigger: j.Trigger, Dir: j.Dir,
		Missed: cronstore.Missed(j.Missed), Disabled: j.Disabled}
}

func jobOf(j cronstore.Job) Job {
	return Job{ID: j.ID, Name: j.Name, Schedule: j.Schedule, Zone: j.Zone, Prompt: j.Prompt, Command: j.Command, Trigger: j.Trigger, Dir: j.Dir,
		Missed: string(j.Missed), Disabled: j.Disabled, Next: j.Next(time.Now())}
}

// A Store keeps jobs for everybody who works with them, at most 1,000. It is safe for
// concurrent use. Make one with [Memory] or [File].
type Store cronstore.Handle

// Memory returns a store that ends with the process.
func Memory() *Store { return (*Store)(cronstore.NewHandle(new(cronstore.Memory))) }

// File returns a store in a file of JSON, for all programs of this machine that are given the
// same path. Beside it is an empty file with the ending ".lock". Both are for their owner
// alone. A crash leaves the jobs as they were before or after a change.
func File(path string) *Store {
	return (*Store)(cronstore.NewHandle(cronstore.File{Path: path}))
}

// Errors of a [Store].
var (
	ErrNotFound = cronstore.ErrNotFound
	// ErrUnreadable is matched by the error for a store whose content cannot be
	// understood. Nothing is written over it.
	ErrUnreadable = cronstore.ErrUnreadable
)

func (s *Store) jobs() cronstore.Store { return (*cronstore.Handle)(s).Jobs() }

// Jobs returns all jobs in the order in which they were added.
func (s *Store) Jobs(ctx context.Context) ([]Job, error) {
	found, err := s.jobs().Load(ctx)
	var all []Job
	for _, j := range found {
		all = append(all, jobOf(j))
	}
	return all, err
}

// Add checks a job, adds it and returns it with a new id. It first ticks after now. The error
// names the first mistake, for instance the field of the schedule that is wrong.
//
// A job with a Trigger replaces the one of the same trigger and keeps its id. Without a
// Schedule it only removes it.
func (s *Store) Add(ctx context.Context, j Job) (Job, error) {
	add := cronstore.Add
	if j.Trigger != "" {
		add = cronstore.Put
	}
	added, err := add(ctx, s.jobs(), j.inner())
	if err != nil {
		return Job{}, err
	}
	return jobOf(added), nil
}

// Remove removes a job. A run in progress is not stopped. The schedule of a trigger cannot be
// removed this way, see [Store.Add].
func (s *Store) Remove(ctx context.Context, id string) error {
	_, err := cronstore.Remove(ctx, s.jobs(), id)
	return err
}

// Enable switches a job on or off. Ticks that it missed while off are not made up for. The
// schedule of a trigger cannot be switched this way, see [Store.Add].
func (s *Store) Enable(ctx context.Context, id string, on bool) error {
	_, err := cronstore.Enable(ctx, s.jobs(), id, on)
	return err
}
