package team

import (
	"encoding/json"
	"time"

	"github.com/openagent-go/agent/internal/teamstore"
)

// A Status says how far a [Task] has come. Completed, Failed and Cancelled are
// final.
type Status string

const (
	Pending    Status = "pending"     // nobody works on it yet
	InProgress Status = "in_progress" // its owner works on it
	Completed  Status = "completed"   // it is done
	Failed     Status = "failed"      // it could not be done
	Cancelled  Status = "cancelled"   // it is not wanted any more
)

// A Task is a piece of work. BlockedBy and Blocks are two sides of one thing and
// always agree. A task in progress has an owner, and it and a completed one wait
// for nothing: all of BlockedBy is completed.
type Task struct {
	ID          string                     `json:"id"`                    // task_1, task_2, … in the order of creation
	Subject     string                     `json:"subject"`               // a short title
	Description string                     `json:"description,omitempty"` // what is to be done
	Status      Status                     `json:"status"`                // how far it is
	Owner       string                     `json:"owner,omitempty"`       // the agent whose task it is
	Output      string                     `json:"output,omitempty"`      // the result in words
	BlockedBy   []string                   `json:"blockedBy,omitempty"`   // ids of tasks to be completed first
	Blocks      []string                   `json:"blocks,omitempty"`      // ids of tasks that wait for this one
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty"`    // values of your own
	CreatedAt   time.Time                  `json:"createdAt"`             // when it was made
	UpdatedAt   time.Time                  `json:"updatedAt"`             // when it last changed
	// LeaseUntil is when a task in progress is pending again, without an owner,
	// unless its lease is renewed. Zero: never.
	LeaseUntil time.Time `json:"leaseUntil,omitzero"`
}

func (t Task) inner() teamstore.Task {
	return teamstore.Task{ID: t.ID, Subject: t.Subject, Description: t.Description, Status: teamstore.Status(t.Status), Owner: t.Owner, Output: t.Output,
		BlockedBy: t.BlockedBy, Blocks: t.Blocks, Metadata: t.Metadata, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt, LeaseUntil: t.LeaseUntil}
}

func taskOf(t teamstore.Task) Task {
	return Task{ID: t.ID, Subject: t.Subject, Description: t.Description, Status: Status(t.Status), Owner: t.Owner, Output: t.Output,
		BlockedBy: t.BlockedBy, Blocks: t.Blocks, Metadata: t.Metadata, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt, LeaseUntil: t.LeaseUntil}
}

func public(t teamstore.Task, err error) (Task, error) { return taskOf(t), err }

// A Change lists the new values for a task. Zero fields change nothing.
type Change struct {
	Subject     *string // nil: no change
	Description *string // nil: no change
	Output      *string // nil: no change
	// Owner: "" means no owner, which is an error for a task in progress.
	Owner *string
	// Status. To start a task, InProgress, is to claim it: it must be pending,
	// blocked by nothing and free or Owner's already; of many who try one succeeds,
	// the others get [ErrTaken]. For who has it already it renews the lease. Going
	// back to Pending frees the task unless Owner says otherwise.
	Status Status
	// Lease is how long a task started or renewed by this change stays its owner's without
	// another renewal. 0: a store of [Dir] renews it while the program lives; in [Memory] the
	// task is its owner's permanently.
	Lease time.Duration
	// BlockedBy and Blocks take the place of the lists that are there; nil leaves
	// them, empty clears them. A task that is not pending cannot begin to wait for
	// one that is not completed.
	BlockedBy []string
	Blocks    []string
	// Metadata is merged by key; null deletes.
	Metadata map[string]json.RawMessage
	// Holder, if not empty, must be the owner of the task in progress. A worker whose lease
	// has ended gets [ErrTaken] instead of overwriting another worker's result.
	Holder string
}

func (c Change) inner() teamstore.Change {
	return teamstore.Change{Subject: c.Subject, Description: c.Description, Output: c.Output, Owner: c.Owner, Status: teamstore.Status(c.Status), Lease: c.Lease,
		BlockedBy: c.BlockedBy, Blocks: c.Blocks, Metadata: c.Metadata, Holder: c.Holder}
}

// A Message goes from one agent to another.
type Message struct {
	// ID tells copies of a message apart from new ones: a mailbox takes a message of
	// an id once. A sender that may have to send again chooses it; "" is replaced.
	ID      string    `json:"id"`
	From    string    `json:"from"`    // the name of the sender
	To      string    `json:"to"`      // in a mailbox the name of its owner, even in a message to everyone
	Content string    `json:"content"` // a text
	Time    time.Time `json:"time"`    // when it was sent
	// Type is "text", "shutdown_request", "shutdown_response" or "plan_approval_response". ""
	// is "text".
	Type string `json:"type"`
}
