// Package durable runs sessions on many machines. Any process may prompt a session, steer
// it, answer its questions and watch it, and any worker may die.
//
// What is said to a session is a [Command]. A [Client] keeps it in the inbox of the session,
// which is in a database, and asks an [Engine] to wake a worker. The engine gives the
// session to one of its workers, and to another one if that worker dies. The [Worker] opens
// the session, continues its run, and carries out the commands until there are none left.
// A session that waits for a person needs no process.
//
// The engine knows the ids of sessions and nothing of their conversations. It may be wrong
// about which worker is alive: the store of the [Backend] lets only the worker that opened
// a session last append to it.
//
// A fact is recorded once. A command is carried out at least once and counts once. A call
// of a tool that may change something is tried at most once, as in one process: if its
// worker dies during the call, the model is told that the outcome is not known. Pass
// [tool.Call].ID on as an idempotency key if a service accepts one.
package durable

import (
	"context"
	"iter"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// A Backend is what the processes share. Its methods are safe for concurrent use.
//
// Package postgres has one, and durabletest one in memory. The tests of durabletest hold
// what a Backend promises.
type Backend interface {
	// Store returns the sessions. worker names who opens them, for people. A session that is
	// open belongs to its worker for the time of a lease, which the store renews while the
	// worker lives. Opening it elsewhere fails with [session.ErrBusy] until the lease is over.
	// From then on, appends of the earlier worker fail with [session.ErrLost]. lost, unless nil,
	// is called when a session that this store has open belongs to another worker.
	//
	// A store may have Lend(ctx, id) error and Recall(ctx, id) error. Lend lets others open and delete a
	// session that this store has open and does not use now, as if nobody had it. Recall takes it back,
	// and fails with [session.ErrLost] if somebody has opened or deleted it. A value of Notify tells a
	// worker of that at once.
	//
	// The store has [session.Nester], [session.Waiter] and [session.Stater].
	Store(worker string, lost func()) session.Store

	// Post puts a command into the inbox of a session, unless the inbox has one with its ID or
	// had one in the last day: a command that is sent again counts once. The session may be new.
	// It fails with [ErrFull] if the inbox has 1,000 commands, or with this one more than 64 MB.
	Post(ctx context.Context, session string, m Mail) error
	// Inbox returns the commands of a session that are not settled, oldest first.
	Inbox(ctx context.Context, session string) ([]Mail, error)
	// Settle takes commands out of an inbox. IDs that it does not have are ignored.
	Settle(ctx context.Context, session string, ids ...string) error
	// Reject settles a command and keeps why it could not be carried out, for at least a day. It
	// changes nothing about a command that is settled already.
	Reject(ctx context.Context, session, id, reason string) error
	// Rejected returns what Reject has kept. ok is false if the command was not rejected.
	Rejected(ctx context.Context, session, id string) (reason string, ok bool, err error)
	// Keep settles a command and keeps its body as a setting of the session, in place of the
	// setting that had this name. A nil body removes the setting; the ID does not count then.
	Keep(ctx context.Context, session, name string, m Mail) error
	// Kept returns the settings of a session by their names.
	Kept(ctx context.Context, session string) (map[string][]byte, error)
	// Unattended returns sessions that nobody has open, with a command of at least this age.
	Unattended(ctx context.Context, age time.Duration) ([]string, error)
	// Notify returns a channel that gets a value after a command was posted to a session, by
	// any process. A value may be lost if a connection breaks. Call stop at the end.
	Notify(session string) (posted <-chan struct{}, stop func())

	// Place returns the place that a session is bound to, "" if there is none.
	Place(ctx context.Context, session string) (string, error)
	// SetPlace binds a session to a place.
	SetPlace(ctx context.Context, session, place string) error

	// Publish shows signals of a session to those who watch it now. Nobody needs to watch, and
	// signals may be lost.
	Publish(ctx context.Context, session string, signals []event.Event) error
	// Signals yields the signals of a session that are published until ctx ends.
	Signals(ctx context.Context, session string) iter.Seq[event.Event]
}

// A Mail is a command in an inbox, as a Backend keeps it.
type Mail struct {
	ID   string // of the command, up to 200 bytes
	Body []byte // JSON in UTF-8
}

// An Engine wakes workers for sessions. Package postgres has one that needs the database
// alone, and package temporal one that uses Temporal.
type Engine interface {
	// Wake makes a worker look after a session: once or more often, soon, and also if the
	// session is at work now and its worker is about to leave it.
	Wake(ctx context.Context, session string) error
}

// A Wake says how an Engine gives a session to a [Worker].
type Wake struct {
	// Drain is closed when the worker is to end. Runs may then finish the calls that are
	// under way, within [Worker].Grace. Nil: never.
	Drain <-chan struct{}
	// Moved: the place that the session is bound to has no worker. Another one may take it.
	Moved bool
	// Cancelled reports, after the context has ended, whether somebody cancelled the work:
	// then the run is interrupted. Otherwise the engine has given the session to another
	// worker, and the run is left to that one. Nil: it always is.
	Cancelled func(ctx context.Context) bool
}

// An Outcome says how a [Worker] left a session.
type Outcome string

// The outcomes.
const (
	Idle      Outcome = "idle"      // there is nothing to do until a command comes
	Waiting   Outcome = "waiting"   // likewise; a question waits for a person
	Yielded   Outcome = "yielded"   // the work is not done: another worker has to continue now
	Elsewhere Outcome = "elsewhere" // likewise, the worker at the session's place
)
