// Package session stores the facts of sessions.
package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
)

// A Store keeps the facts of sessions. Several processes may use one store;
// one of them at a time writes a session. Implementations pass the suite in
// package sessiontest.
type Store interface {
	// Open opens a session for writing and takes its lock; where the session does
	// not exist yet it begins with header. It fails with [ErrSessionBusy] while
	// somebody else holds the lock, with [ErrBadID] on an illegal id, and with a
	// [*CorruptError] where recorded facts cannot be read.
	Open(ctx context.Context, id string, header Header) (Log, error)
	// Read yields the facts of a session with a sequence number above after, in
	// order. It takes no lock. It fails with [ErrNotFound].
	Read(ctx context.Context, id string, after int64) iter.Seq2[event.Event, error]
	// List returns what is known of every session, the one changed last first.
	List(ctx context.Context) ([]Info, error)
}

// A Log is a session opened for writing.
type Log interface {
	// Last returns the sequence number of the last fact, 0 if there is none.
	Last() int64
	// Append records events, whose sequence numbers continue after: the number of
	// the last fact that the caller knows. It fails with [ErrConflict], recording
	// nothing, when that is not the last one. With sync it returns once the events
	// are on the disk. After any other failure the log is broken: nothing more can
	// be appended until the session is opened anew.
	Append(ctx context.Context, after int64, sync bool, events ...event.Event) error
	// Close gives up the lock.
	Close() error
}

// A Header is what a session begins with.
type Header struct {
	Session string    `json:"session"`
	Created time.Time `json:"created"`
	Dir     string    `json:"cwd,omitempty"`
	Parent  *Point    `json:"parent,omitempty"` // what it was forked from
}

// A Point is a place in a session.
type Point struct {
	Session string `json:"session"`
	Seq     int64  `json:"seq"`
}

// Info is what a list shows of a session.
type Info struct {
	Header
	Updated time.Time `json:"updated"`
	Prompt  string    `json:"prompt,omitempty"` // the first prompt, its first line
	Facts   int64     `json:"facts"`            // how many are recorded
	Size    int64     `json:"size"`             // bytes, blobs not counted; 0 where not stored as a file
}

// Errors of stores.
var (
	ErrSessionBusy = errors.New("session is in use by another process or agent")
	ErrConflict    = errors.New("session was written by somebody else meanwhile")
	ErrNotFound    = errors.New("there is no such session")
	ErrBadID       = errors.New("illegal session id")
)

// A CorruptError says where a session's file cannot be read. Nothing of the
// file is changed.
type CorruptError struct {
	Path string
	Line int // counting from 1, the header included
	Err  error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("session file %s is damaged in line %d: %v", e.Path, e.Line, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// CheckID reports whether id may name a session: not empty, at most 200 bytes,
// and without "/", "\", ".." and control characters. The error is an [ErrBadID].
func CheckID(id string) error {
	bad := func(r rune) bool { return r == '/' || r == '\\' || r < 0x20 || r == 0x7f }
	if id == "" || len(id) > 200 || id == "." || strings.Contains(id, "..") || strings.ContainsFunc(id, bad) {
		return fmt.Errorf("%w %q: it must not be empty, longer than 200 bytes or hold '/', '\\', '..' or control characters", ErrBadID, id)
	}
	return nil
}
