// Package teamstore implements package team: tasks, teams, mail and the names of running agents,
// in memory ([Memory]) or in files ([Dir]).
package teamstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/text"
)

// maxShown bounds quotations in errors, in bytes.
const maxShown = 80

// A Status says how far a [Task] has come. Completed, Failed and Cancelled are
// final.
type Status string

const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
)

// Statuses lists every Status.
var Statuses = []Status{Pending, InProgress, Completed, Failed, Cancelled}

// ParseStatus reads a status however its words are joined: in_progress,
// inProgress, in-progress and "in progress" are one.
func ParseStatus(s string) (Status, error) {
	plain := strings.NewReplacer("_", "", "-", "", " ", "")
	for _, known := range Statuses {
		if strings.EqualFold(plain.Replace(s), plain.Replace(string(known))) {
			return known, nil
		}
	}
	return "", fmt.Errorf("unknown status %q, want pending, in_progress, completed, failed or cancelled", text.Bytes(s, maxShown))
}

// Final reports whether a task of this status stays as it is.
func (s Status) Final() bool { return s == Completed || s == Failed || s == Cancelled }

// A Task is a piece of work. BlockedBy and Blocks are two sides of one thing and
// always agree. A task in progress has an owner, and it and a completed one wait
// for nothing: all of BlockedBy is completed.
type Task struct {
	ID          string                     `json:"id"` // task_1, task_2, … in the order of creation
	Subject     string                     `json:"subject"`
	Description string                     `json:"description,omitempty"`
	Status      Status                     `json:"status"`
	Owner       string                     `json:"owner,omitempty"` // the agent whose task it is
	Output      string                     `json:"output,omitempty"`
	BlockedBy   []string                   `json:"blockedBy,omitempty"` // ids of tasks to be completed first
	Blocks      []string                   `json:"blocks,omitempty"`    // ids of tasks that wait for this one
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty"`
	CreatedAt   time.Time                  `json:"createdAt"`
	UpdatedAt   time.Time                  `json:"updatedAt"`
	// LeaseUntil is when a task in progress is pending again, without an owner,
	// unless its lease is renewed. Zero: never.
	LeaseUntil time.Time `json:"leaseUntil,omitzero"`
}

// Limits of a list of tasks. Beyond them methods fail with [ErrLimit].
const (
	MaxTasks        = 10_000  // in a space
	MaxSubject      = 500     // bytes
	MaxDescription  = 64_000  // bytes
	MaxOutput       = 200_000 // bytes
	MaxDependencies = 200     // in BlockedBy, and in Blocks
	MaxMetadata     = 16_000  // bytes of keys and values together
)

// Errors of [Tasks].
var (
	ErrNotFound = errors.New("there is no such task")
	ErrTaken    = errors.New("the task is another agent's")
	ErrBlocked  = errors.New("the task is blocked")
	ErrCycle    = errors.New("tasks would wait for each other") // and how: a → b means that a waits for b
	ErrNone     = errors.New("there is no task to start")
	ErrLimit    = errors.New("limit reached")
	ErrInvalid  = errors.New("invalid")
)

// A StatusError refuses a change of status.
type StatusError struct {
	ID       string
	From, To Status
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s cannot go from %s to %s: %s is final", e.ID, e.From, e.To, e.From)
}

// A Change lists the new values for a task. Zero fields change nothing.
type Change struct {
	Subject     *string `json:"subject,omitempty"`
	Description *string `json:"description,omitempty"`
	Output      *string `json:"output,omitempty"`
	// Owner: "" means no owner, which is an error for a task in progress.
	Owner *string `json:"owner,omitempty"`
	// Status. To start a task, InProgress, is to claim it: it must be pending,
	// blocked by nothing and free or Owner's already; of many who try one succeeds,
	// the others get [ErrTaken]. For who has it already it renews the lease. Going
	// back to Pending frees the task unless Owner says otherwise.
	Status Status `json:"status,omitempty"`
	// Lease is how long a task started or renewed by this change stays its owner's
	// without another renewal. 0: permanently when it starts, unchanged later.
	Lease time.Duration `json:"lease,omitempty"` // nanoseconds in JSON
	// BlockedBy and Blocks take the place of the lists that are there; nil leaves
	// them, empty clears them. A task that is not pending cannot begin to wait for
	// one that is not completed.
	BlockedBy []string `json:"blockedBy,omitzero"`
	Blocks    []string `json:"blocks,omitzero"`
	// Metadata is merged by key; null deletes.
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
	// Holder, if not empty, must be the owner of the task in progress. A worker whose lease
	// has ended gets [ErrTaken] instead of overwriting another worker's result.
	Holder string `json:"holder,omitempty"`
}

// A Filter picks tasks. Zero fields let all pass.
type Filter struct {
	Status Status
	Owner  string
	// Startable is an agent's name: the tasks that it could start now.
	Startable string
	Limit     int // the first that many
}

// Tasks is a list of tasks for each space. It may be shared by several programs.
// A change is made as a whole or not at all, and tasks that are returned are
// copies. Unknown ids give an error that matches [ErrNotFound].
type Tasks interface {
	// AddTask adds a task: Subject, and any of Description, Status (Pending if
	// empty), Owner, Output, BlockedBy, Blocks, Metadata and, of a task in progress,
	// LeaseUntil. It returns the task with its id. The same rules hold as for a
	// [Change].
	AddTask(ctx context.Context, space string, t Task) (Task, error)
	Task(ctx context.Context, space, id string) (Task, error)
	// Tasks returns tasks in the order of their creation.
	Tasks(ctx context.Context, space string, f Filter) ([]Task, error)
	// UpdateTask changes a task and returns it as it is then.
	UpdateTask(ctx context.Context, space, id string, c Change) (Task, error)
}

// Claim starts, for owner, the oldest task that can be started, see [Change]. It fails with
// [ErrNone] if there is none at present: the list is empty, or all tasks are blocked or
// taken.
func Claim(ctx context.Context, tasks Tasks, space, owner string, lease time.Duration) (Task, error) {
	const batch = 32 // others may be faster with some of them
	for {
		ready, err := tasks.Tasks(ctx, space, Filter{Startable: owner, Limit: batch})
		if err != nil {
			return Task{}, err
		}
		if len(ready) == 0 {
			return Task{}, ErrNone
		}
		for _, t := range ready {
			t, err := tasks.UpdateTask(ctx, space, t.ID, Change{Status: InProgress, Owner: &owner, Lease: lease})
			var final *StatusError
			switch {
			case err == nil:
				return t, nil
			case errors.Is(err, ErrTaken), errors.Is(err, ErrBlocked), errors.As(err, &final):
				// someone was faster
			default:
				return Task{}, err
			}
		}
	}
}

func (t *Task) clone() Task {
	c := *t
	c.BlockedBy = slices.Clone(t.BlockedBy)
	c.Blocks = slices.Clone(t.Blocks)
	c.Metadata = merge(t.Metadata, nil)
	return c
}
