// Package cronstore has the jobs of package cron, the stores that keep them and the scheduler
// that runs them. Each tick of a job is claimed in the store before it runs.
package cronstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/text"
)

// Limits of a job and of a store.
const (
	MaxName = 100      // characters of a name
	MaxText = 64 << 10 // bytes of a prompt or a command
	MaxJobs = 1000     // jobs in a store
	maxNote = 400      // bytes of an outcome's note
	maxPast = 10       // outcomes that a job keeps
	// maxMissed is how many missed ticks are made up for with the policy [All].
	maxMissed = 100
)

// Missed says what to do with ticks that no program fired in time.
type Missed string

const (
	Once Missed = "once" // one run makes up for all of them; the default
	Skip Missed = "skip" // they are left out
	All  Missed = "all"  // each is run, one after the other, the latest 100 at most
)

// A Job is a prompt or a command that is run, or a trigger that is started, at the
// ticks of a schedule.
type Job struct {
	ID       string    `json:"id"` // given by [Add], safe in file names and command lines
	Name     string    `json:"name"`
	Schedule string    `json:"schedule"` // see [Parse]
	Zone     string    `json:"zone,omitempty"`
	Prompt   string    `json:"prompt,omitempty"` // either this or Command or Trigger
	Command  string    `json:"command,omitempty"`
	Trigger  string    `json:"trigger,omitempty"` // the id of the trigger whose schedule this is, see [Put]
	Dir      string    `json:"dir"`               // folder to work in, absolute
	Created  time.Time `json:"created"`
	Disabled bool      `json:"disabled,omitempty"`
	Missed   Missed    `json:"missed,omitempty"` // "" is Once
	// Ticked is the latest tick that was claimed, or left out.
	Ticked time.Time `json:"ticked,omitzero"`
	Run    *Run      `json:"run,omitempty"`  // the run in progress
	Past   []Outcome `json:"past,omitempty"` // the latest ten outcomes, the newest last
}

// A Run is a job's run in progress.
type Run struct {
	Tick    time.Time `json:"tick"`
	Started time.Time `json:"started"`
	Owner   string    `json:"owner"` // the scheduler
	// Alive is renewed during the run. When it is old, its program has died.
	Alive time.Time `json:"alive"`
}

// A Status is the result of a tick.
type Status string

const (
	Done    Status = "done"
	Failed  Status = "failed"
	Skipped Status = "skipped" // it came, perhaps with others, while the run before went on
	Overdue Status = "missed"  // no program was there in time, and the policy skips it
	Lost    Status = "lost"    // the program died during the run; it is not repeated
)

// An Outcome is the result of a tick.
type Outcome struct {
	Tick   time.Time `json:"tick"`
	Status Status    `json:"status"`
	Ended  time.Time `json:"ended"`
	Note   string    `json:"note,omitempty"` // one line: the answer, or the error
	// Took is how long a run took that ended: its length in nanoseconds.
	Took time.Duration `json:"took,omitempty"`
}

// Errors of this package.
var (
	ErrNotFound = errors.New("there is no such job")
	// ErrUnreadable is matched by the error for a store whose content cannot be
	// understood. Nothing is written over it.
	ErrUnreadable = errors.New("the schedule cannot be read")
	// ErrOfTrigger is matched by the error for a job that belongs to a trigger.
	ErrOfTrigger = errors.New("the job is the schedule of a trigger; change the trigger instead")
)

// Times returns the schedule of the job.
func (j Job) Times() (Schedule, error) { return Parse(j.Schedule, j.Zone, j.Created) }

// Next returns the next tick after t: the zero time for a job that is disabled
// or breaks [Job.Check].
func (j Job) Next(t time.Time) time.Time {
	if j.Disabled || j.Check() != nil {
		return time.Time{}
	}
	s, err := j.Times()
	if err != nil {
		return time.Time{}
	}
	return s.Next(t)
}

// Due reports whether a tick up to t is open: it was neither run nor left out.
func (j Job) Due(t time.Time) bool {
	next := j.Next(j.since())
	return !next.IsZero() && !next.After(t)
}

// since is the moment after which ticks are open.
func (j Job) since() time.Time { return later(j.Ticked, j.Created) }

// Last returns the newest outcome.
func (j Job) Last() (Outcome, bool) {
	if len(j.Past) == 0 {
		return Outcome{}, false
	}
	return j.Past[len(j.Past)-1], true
}

// Check returns the first mistake in a job that a person or a model wrote.
func (j Job) Check() error {
	switch {
	case j.Trigger == "" && (strings.TrimSpace(j.Prompt) == "") == (strings.TrimSpace(j.Command) == ""):
		return errors.New("a job needs exactly one of a prompt and a command")
	case j.Trigger != "" && j.Prompt+j.Command != "":
		return errors.New("a job that starts a trigger must have neither a prompt nor a command")
	case len(j.Trigger) > MaxName:
		return fmt.Errorf("the id of the trigger has more than %d bytes", MaxName)
	case strings.TrimSpace(j.Name) == "":
		return errors.New("the job has no name")
	case utf8.RuneCountInString(j.Name) > MaxName:
		return fmt.Errorf("the name has more than %d characters", MaxName)
	case strings.ContainsFunc(j.Name, unicode.IsControl) || !utf8.ValidString(j.Name):
		return errors.New("the name must be one line of printable characters")
	case len(j.Prompt) > MaxText || len(j.Command) > MaxText:
		return fmt.Errorf("a prompt or command has at most %d KB", MaxText>>10)
	case strings.ContainsRune(j.Prompt+j.Command, 0) || !utf8.ValidString(j.Prompt+j.Command):
		return errors.New("the prompt or command is not valid text")
	case !slices.Contains([]Missed{"", Once, Skip, All}, j.Missed):
		return fmt.Errorf("missed is %q; it must be once, skip or all", text.Bytes(string(j.Missed), maxShown))
	case !filepath.IsAbs(j.Dir):
		return fmt.Errorf("the folder %q is not an absolute path", text.Bytes(j.Dir, maxShown))
	}
	_, err := j.Times()
	return err
}

// Add checks a job and puts it into the store, with a new id. It first ticks
// after now.
func Add(ctx context.Context, s Store, j Job) (Job, error) {
	j.ID, j.Created = newID(), time.Now().UTC().Round(0).Truncate(time.Second)
	j.Name = strings.TrimSpace(j.Name)
	j.Ticked, j.Run, j.Past = time.Time{}, nil, nil
	if err := j.Check(); err != nil {
		return Job{}, err
	}
	err := s.Update(ctx, func(jobs []Job) ([]Job, error) {
		if len(jobs) >= MaxJobs {
			return nil, fmt.Errorf("there are already %d jobs, which is the limit; delete one first", MaxJobs)
		}
		return append(jobs, j), nil
	})
	if err != nil {
		return Job{}, err
	}
	return j, nil
}

// Put makes j the schedule of its trigger. It replaces the one before and keeps that one's
// id and past. Without a Schedule, Put removes it; that is no error if there was none. A
// new schedule first ticks after now.
func Put(ctx context.Context, s Store, j Job) (Job, error) {
	now := time.Now().UTC().Round(0)
	j.ID, j.Created, j.Ticked, j.Run, j.Past = newID(), now.Truncate(time.Second), time.Time{}, nil, nil
	switch {
	case j.Trigger == "":
		return Job{}, errors.New("the job has no trigger")
	case j.Schedule != "":
		if err := j.Check(); err != nil {
			return Job{}, err
		}
	}
	err := s.Update(ctx, func(jobs []Job) ([]Job, error) {
		i := slices.IndexFunc(jobs, func(o Job) bool { return o.Trigger == j.Trigger })
		switch {
		case j.Schedule == "" && i < 0:
			return jobs, nil
		case j.Schedule == "":
			return slices.Delete(jobs, i, i+1), nil
		case i < 0 && len(jobs) >= MaxJobs:
			return nil, fmt.Errorf("there are already %d jobs, which is the limit; delete one first", MaxJobs)
		case i < 0:
			return append(jobs, j), nil
		}
		old := jobs[i]
		j.ID, j.Run, j.Past = old.ID, old.Run, old.Past
		if old.Schedule == j.Schedule && old.Zone == j.Zone {
			if j.Created, j.Ticked = old.Created, old.Ticked; old.Disabled && !j.Disabled {
				j.Ticked = later(j.Ticked, now)
			}
		}
		jobs[i] = j
		return jobs, nil
	})
	if err != nil {
		return Job{}, err
	}
	return j, nil
}

// Remove takes a job out of the store and returns it. A run in progress is not stopped. The
// schedule of a trigger cannot be removed this way: [ErrOfTrigger].
func Remove(ctx context.Context, s Store, id string) (Job, error) {
	var removed Job
	err := s.Update(ctx, func(jobs []Job) ([]Job, error) {
		i, err := find(jobs, id)
		if err != nil {
			return nil, err
		}
		if removed = jobs[i]; removed.Trigger != "" {
			return nil, fmt.Errorf("%w (%s)", ErrOfTrigger, text.Bytes(removed.Trigger, maxShown))
		}
		return slices.Delete(jobs, i, i+1), nil
	})
	return removed, err
}

// Enable switches a job on or off. Ticks that it missed while off are not made up for.
func Enable(ctx context.Context, s Store, id string, on bool) (Job, error) {
	var changed Job
	err := s.Update(ctx, func(jobs []Job) ([]Job, error) {
		i, err := find(jobs, id)
		if err != nil {
			return nil, err
		}
		if id := jobs[i].Trigger; id != "" {
			return nil, fmt.Errorf("%w (%s)", ErrOfTrigger, text.Bytes(id, maxShown))
		}
		if on && jobs[i].Disabled {
			jobs[i].Ticked = later(jobs[i].Ticked, time.Now().UTC().Round(0))
		}
		jobs[i].Disabled = !on
		changed = jobs[i]
		return jobs, nil
	})
	return changed, err
}

func find(jobs []Job, id string) (int, error) {
	i := slices.IndexFunc(jobs, func(j Job) bool { return j.ID == id })
	if i < 0 {
		return 0, fmt.Errorf("%w %q", ErrNotFound, text.Bytes(id, maxShown))
	}
	return i, nil
}

func newID() string { return "cron_" + strings.ToLower(rand.Text()[:10]) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// keep adds an outcome to those that the job keeps.
func (j *Job) keep(o Outcome) Outcome {
	o.Note = text.Bytes(text.OneLine(o.Note), maxNote)
	j.Past = append(slices.Clone(j.Past), o)
	j.Past = j.Past[max(0, len(j.Past)-maxPast):]
	return o
}
