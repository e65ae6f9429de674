package teamstore

import (
	"context"
	"errors"
	"time"
)

// A Ledger keeps the lines of spaces where several programs reach them. The interface of
// package team that programs implement has the same methods.
type Ledger interface {
	// Read returns the lines of a space after a position, the position of the last line, and
	// the time of the ledger. "" is the position before all lines. It fails with [ErrMoved]
	// if the lines after the position are no longer there.
	Read(ctx context.Context, space, after string) (lines []string, at string, now time.Time, err error)
	// Write calls fn with what Read returns, while nobody else writes to the space. It appends
	// the lines that fn returns, or replaces all lines of the space by them, and returns the
	// position of the last one. If it fails, or fn does, it changes nothing.
	Write(ctx context.Context, space, after string, fn func(lines []string, now time.Time) (more []string, replace bool, err error)) (at string, err error)
	// Watch returns a channel that gets a value when somebody may have written to a space,
	// until ctx ends.
	Watch(ctx context.Context, space string) (<-chan struct{}, error)
	// Lock waits until nobody holds the lock of a name, and takes it. The lock is free when
	// unlock was called, and some time after the program has died.
	Lock(ctx context.Context, name string) (unlock func(), err error)
	// Locked reports whether a living program holds the lock of a name.
	Locked(ctx context.Context, name string) (bool, error)
}

// ErrMoved is the error of a position whose lines are gone, because others have taken their
// place. Read from the beginning.
var ErrMoved = errors.New("the lines after this position are no longer there")
