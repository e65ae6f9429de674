// Package teamtest tests implementations of [teamstore.Tasks], [teamstore.Teams],
// [teamstore.Mail], [teamstore.Agents] and [teamstore.Watcher].
package teamtest

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/teamstore"
)

// A Store is all that agents share.
type Store interface {
	teamstore.Tasks
	teamstore.Teams
	teamstore.Mail
	teamstore.Agents
	teamstore.Watcher
}

// A Clock is the time that a store under test goes by.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Advance sets the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// start is when tests begin.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A bench is a store under test.
type bench struct {
	Store
	clock *Clock
}

// Run tests the stores that open returns, each of them new, empty and going by
// the clock.
func Run(t *testing.T, open func(t *testing.T, clock *Clock) Store) {
	for name, test := range map[string]func(*testing.T, bench){
		"create":       create,
		"update":       update,
		"refused":      refused,
		"statuses":     statuses,
		"dependencies": dependencies,
		"cycles":       cycles,
		"whole":        whole,
		"list":         list,
		"claim":        claim,
		"lease":        lease,
		"spaces":       spaces,
		"one wins":     oneWins,
		"queue":        queue,
		"random tasks": randomTasks,
		"cancelled":    cancelled,
		"teams":        teams,
		"team refused": teamRefused,
		"agents":       agents,
		"mail":         mail,
		"bounce":       bounce,
		"mail dedupe":  mailDedupe,
		"mail kept":    mailKept,
		"mail racing":  mailRacing,
		"watch":        watch,
		"random teams": randomTeams,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // stores on a disk mostly wait for it
			clock := &Clock{at: start}
			test(t, bench{open(t, clock), clock})
		})
	}
}

// space is the one that most tests work in.
const space = "s"

func (b bench) add(t *testing.T, task teamstore.Task) teamstore.Task {
	t.Helper()
	if task.Subject == "" {
		task.Subject = "x"
	}
	made, err := b.AddTask(t.Context(), space, task)
	if err != nil {
		t.Fatalf("adding %+v: %v", task, err)
	}
	return made
}

func (b bench) get(t *testing.T, id string) teamstore.Task {
	t.Helper()
	task, err := b.Task(t.Context(), space, id)
	if err != nil {
		t.Fatalf("getting %s: %v", id, err)
	}
	return task
}

func (b bench) change(t *testing.T, id string, c teamstore.Change) teamstore.Task {
	t.Helper()
	task, err := b.UpdateTask(t.Context(), space, id, c)
	if err != nil {
		t.Fatalf("changing %s: %v", id, err)
	}
	return task
}

// refuses expects an update to fail and to change nothing.
func (b bench) refuses(t *testing.T, id string, c teamstore.Change, want error, words ...string) {
	t.Helper()
	before := b.all(t)
	_, err := b.UpdateTask(t.Context(), space, id, c)
	fails(t, id, err, want, words...)
	if after := b.all(t); !slices.EqualFunc(before, after, same) {
		t.Errorf("a refused change of %s left\n%+v\nof\n%+v", id, after, before)
	}
}

func fails(t *testing.T, what string, err, want error, words ...string) {
	t.Helper()
	if err == nil || want != nil && !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: error %q lacks %q", what, err, w)
		}
	}
}

func (b bench) all(t *testing.T) []teamstore.Task {
	t.Helper()
	tasks, err := b.Tasks(t.Context(), space, teamstore.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}

func ids(tasks []teamstore.Task) string {
	var names []string
	for _, t := range tasks {
		names = append(names, strings.TrimPrefix(t.ID, "task_"))
	}
	return strings.Join(names, " ")
}

func p[T any](v T) *T { return &v }
