package team

import (
	"context"
	"time"

	"github.com/openagent-go/agent/internal/teamstore"
)

// A Ledger keeps a list of lines for each space where programs on any number of machines reach
// it, such as a table of a database. Module postgres has one. Texts are UTF-8. It is safe for
// concurrent use.
type Ledger interface {
	// Read returns the lines of a space after a position, the position of the last line, and
	// the time of the ledger. "" is the position before all lines. Other positions are texts
	// of the ledger's choice. Read fails with [ErrMoved] if Write has replaced the lines after
	// the position.
	Read(ctx context.Context, space, after string) (lines []string, at string, now time.Time, err error)
	// Write calls fn with what Read returns, while nobody else writes to the space. It appends
	// the lines that fn returns, or replaces all lines of the space by them, and returns the
	// position of the last one. If it fails, or fn does, it changes nothing.
	Write(ctx context.Context, space, after string, fn func(lines []string, now time.Time) (more []string, replace bool, err error)) (at string, err error)
	// Watch returns a channel that gets a value when somebody may have written to a space,
	// until ctx ends. A store also looks every two seconds.
	Watch(ctx context.Context, space string) (<-chan struct{}, error)
	// Lock waits until nobody holds the lock of a name, and takes it. The lock is free when
	// unlock was called, and some time after the program has died.
	Lock(ctx context.Context, name string) (unlock func(), err error)
	// Locked reports whether a living program holds the lock of a name.
	Locked(ctx context.Context, name string) (bool, error)
}

// ErrMoved is the error of a [Ledger] about a position whose lines others have replaced. A
// store then reads from the beginning.
var ErrMoved = teamstore.ErrMoved

// Shared returns a store in a ledger, for all programs that are given the same one. A change
// whose method returns without an error is in the ledger. If a method fails with an error of
// the ledger, look whether the change was made. Only the time of the ledger counts. Close the
// store when you are done.
//
// Tasks have leases as those of [Dir]. The lines of a space are replaced by its state when they
// have grown to 256 KB and to four times the state, so a space stays small however long its
// agents work.
func Shared(ledger Ledger) *Store { return (*Store)(teamstore.OpenLedger(ledger)) }
