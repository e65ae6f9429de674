package session

import (
	"context"

	"github.com/openagent-go/agent/event"
)

// The interfaces in this file, and [Waiter], are abilities that a [Store] may have. The
// functions of this package use them, and do without in other stores. [Query.List] uses one
// more method.

// A Stater is a [Store] that returns the Info of one session without listing all. [Stat]
// uses it.
type Stater interface {
	// Stat returns the Info of a session. It fails with [ErrNotFound].
	Stat(ctx context.Context, id string) (Info, error)
}

// A LastReader is a [Store] that reads the end of a session without the rest. [Last] uses it.
type LastReader interface {
	// Last returns the last n facts whose type keep wants, oldest first. A nil keep wants
	// all. It fails like Read does.
	Last(ctx context.Context, id string, n int, keep func(typ string) bool) ([]event.Event, error)
}

// A Nester is a [Store] that keeps the sessions of sub-agents with the session that they
// work for. [Under] uses it.
type Nester interface {
	// Under returns the store for the sub-agents of a session. Its sessions do not appear in
	// the list of this store, and they go when the session is deleted.
	Under(session string) Store
}

// A Deleter is a [Store] that can delete sessions. [Delete] uses it.
type Deleter interface {
	// Delete removes a session. It fails with [ErrBusy] while the session is open,
	// and with [ErrNotFound].
	Delete(ctx context.Context, id string) error
}

// A Creator is a [Store] that makes a session with its facts whole or not at all, whenever
// the program is killed. [Create], [Fork] and [Copy] use it. In other stores they append the
// facts in several steps.
type Creator interface {
	// Create makes the session header.Session out of facts, which are numbered from 1. It
	// fails with [ErrExists]. All facts are on the disk when it returns.
	Create(ctx context.Context, header Header, facts []event.Event) error
}
