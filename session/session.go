// Package session stores the facts of sessions: [Memory] as long as the program runs,
// [Dir] in files.
//
//	a.Sessions = session.Dir("/home/me/.myapp/sessions")
//	latest, err := session.Latest(ctx, a.Sessions)
//	s := a.Session(latest.Session)
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sort"

	"strings"
	"time"
	"unicode/utf8"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/order"
	"github.com/openagent-go/agent/llm"
)

// A Store keeps the facts of sessions. Several processes may use one store;
// one of them at a time writes a session. Implementations pass the suite in
// package sessiontest. A store may have more abilities: see [Stater], [LastReader],
// [Nester], [Deleter], [Creator] and [Waiter], and [Query.List]. [CheckAppend], [CheckID] and [Summary] do what every
// store has to do.
type Store interface {
	// Open opens a session for writing and takes its lock; a new session begins with
	// header. It fails with [ErrBusy] while another process or goroutine holds the
	// lock, with [ErrBadID] on an illegal id, and with an [ErrCorrupt] if recorded facts
	// cannot be read.
	Open(ctx context.Context, id string, header Header) (Log, error)
	// Read yields the facts of a session with a sequence number above after, in
	// order. It takes no lock. It fails with [ErrNotFound].
	Read(ctx context.Context, id string, after int64) iter.Seq2[event.Event, error]
	// List returns the Info of every session, the one changed last first.
	List(ctx context.Context) ([]Info, error)
}

// A Log is a session opened for writing.
type Log interface {
	// Last returns the sequence number of the last fact, 0 if there is none.
	Last() int64
	// Append records events, whose sequence numbers continue after: the number of the last
	// fact that the caller knows. It fails with [ErrConflict], recording nothing, when that
	// is not the last one. With sync it returns once these and all earlier events are on
	// the disk. An ended ctx and an event that is not a fact or does not fit its place are
	// refused before anything is recorded, and the log stays good. After any other failure
	// it is broken, and every further Append fails with the same [ErrBroken] until the
	// session is opened again. When Append returns, the caller may change the slice.
	Append(ctx context.Context, after int64, sync bool, events ...event.Event) error
	// Close gives up the lock. Closing again does nothing.
	Close() error
}

// A Header is the first line of a session.
type Header struct {
	Session string     `json:"session"` // the id
	Created time.Time  `json:"created"` // when the session was made
	Dir     string     `json:"cwd,omitempty"`
	Branch  string     `json:"branch,omitempty"` // of git in Dir; [Dir] finds it out for a new session
	Parent  *Position  `json:"parent,omitempty"` // the session that it was forked from
	Agent   *ParentRef `json:"agent,omitempty"`  // of a sub-agent
}

// A ParentRef names the session and the call that an agent works for.
type ParentRef struct {
	Name    string `json:"name"`    // its own
	Kind    string `json:"kind"`    // the name of its definition
	Session string `json:"session"` // that it works for
	Call    string `json:"call"`    // of the tool that has started it
}

// A Position is a place in a session.
type Position struct {
	Session string `json:"session"` // the id
	Seq     int64  `json:"seq"`     // the number of the fact
}

// Info is the summary of a session for lists.
type Info struct {
	Header
	Updated  time.Time `json:"updated"`          // the time of the last fact
	Title    string    `json:"title,omitempty"`  // given by [Rename]
	Tag      string    `json:"tag,omitempty"`    // given by [SetTag]
	Prompt   string    `json:"prompt,omitempty"` // the first prompt, its first line, at most 200 characters
	Model    string    `json:"model,omitempty"`  // the one configured last
	Messages int64     `json:"messages"`         // messages of the user, the model and the tools
	Facts    int64     `json:"facts"`            // how many are recorded
	Size     int64     `json:"size"`             // bytes, blobs not counted; 0 where not stored as a file
	State    State     `json:"state,omitempty"`  // "": not known, because the store does not tell it or the session is damaged
}

// Errors of stores.
var (
	ErrBusy     = errors.New("session is in use by another process or agent; close it there")
	ErrConflict = errors.New("another process has written to the session")
	ErrNotFound = errors.New("there is no such session")
	ErrBadID    = errors.New("illegal session id")
	ErrExists   = errors.New("the session exists already")
	ErrVersion  = errors.New("session was written by a newer version of the program")
	ErrLost     = errors.New("session was removed or replaced while it was open")
	ErrCorrupt  = errors.New("session file is damaged") // the text of the error names the file and the line
	// ErrBroken: a log accepts no more facts. The disk is full or has failed, or another
	// program touched the session's files ([ErrConflict], [ErrLost]). Facts recorded before
	// are not affected.
	ErrBroken = errors.New("session can no longer be written")
)

// A brokenError is the [ErrBroken] of a [Dir].
type brokenError struct {
	path string
	err  error
}

func (e *brokenError) Error() string {
	safe := "; what was recorded before is not affected"
	if errors.Is(e.err, ErrLost) { // someone has taken it away
		safe = ""
	}
	return fmt.Sprintf("session file %s can no longer be written: %v%s", e.path, e.err, safe)
}

func (e *brokenError) Unwrap() error { return e.err }

func (e *brokenError) Is(target error) bool { return target == ErrBroken }

// A corruptError is the [ErrCorrupt] of a [Dir]. Nothing of the file is changed.
type corruptError struct {
	path string
	line int // counting from 1, the header included
	err  error
}

func (e *corruptError) Error() string {
	return fmt.Sprintf("session file %s is damaged in line %d: %v", e.path, e.line, e.err)
}

func (e *corruptError) Unwrap() error { return e.err }

func (e *corruptError) Is(target error) bool { return target == ErrCorrupt }

func notFound(id string) error { return fmt.Errorf("%w: %s", ErrNotFound, id) }

// CheckID reports whether id may name a session: UTF-8, not empty, at most 200
// bytes, and without "/", "\", ".." and control characters. The error is an [ErrBadID].
func CheckID(id string) error {
	bad := func(r rune) bool { return r == '/' || r == '\\' || r < 0x20 || r == 0x7f }
	if id == "" || len(id) > 200 || id == "." || strings.Contains(id, "..") || strings.ContainsFunc(id, bad) || !utf8.ValidString(id) {
		return fmt.Errorf("%w %q: it must be UTF-8 and not be empty, longer than 200 bytes or hold '/', '\\', '..' or control characters", ErrBadID, id)
	}
	return nil
}

// CheckAppend returns an error if events may not be appended to a session that ends with
// the fact last. after is the number of the fact with which the caller of [Log].Append
// believes that it ends. It is [ErrConflict] if they differ. It refuses an ended ctx, and an
// event that is not a fact, has another number or belongs to another session. Authors of
// stores call it before they record anything.
func CheckAppend(ctx context.Context, session string, last, after int64, events []event.Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if after != last {
		return fmt.Errorf("%w: it ends with fact %d, not %d; open the session again", ErrConflict, last, after)
	}
	for i, e := range events {
		if err := checkFact(e, session, after+int64(i)+1); err != nil {
			return err
		}
	}
	return nil
}

// checkFact reports whether e may be the fact number seq of a session.
func checkFact(e event.Event, session string, seq int64) error {
	switch _, fact := e.Data.(event.Fact); {
	case !fact || event.Type(e.Data) == "":
		return fmt.Errorf("fact %d is a %T, which is not recorded", seq, e.Data)
	case e.Seq != seq:
		return fmt.Errorf("a fact with number %d cannot be number %d", e.Seq, seq)
	case e.Prev < 0 || e.Prev >= seq:
		return fmt.Errorf("fact %d cannot follow fact %d", seq, e.Prev)
	case e.Session != "" && e.Session != session:
		return fmt.Errorf("fact %d belongs to session %q", seq, e.Session)
	}
	return nil
}

// promptLine returns the line about a session's first prompt for lists: of its first text. The
// texts behind that one may be those of files and commands.
func promptLine(m event.UserMessage) string {
	const limit = 200
	var said string
	for _, c := range m.Message.Content {
		if t, ok := c.(llm.Text); ok && said == "" {
			said = strings.TrimSpace(t.Text)
		}
	}
	line, _, _ := strings.Cut(said, "\n")
	n := 0
	for i := range line {
		if n++; n > limit {
			line = line[:i]
			break
		}
	}
	return strings.TrimSpace(line)
}

// sortByUpdate orders infos for a list, the one changed last first.
func sortByUpdate(list []Info) {
	later := func(i, j int) bool {
		a, b := &list[i], &list[j]
		return cmp.Or(b.Updated.Compare(a.Updated), strings.Compare(b.Session, a.Session)) < 0
	}
	sort.Sort(order.By(len(list), later, func(i, j int) { list[i], list[j] = list[j], list[i] }))
}
