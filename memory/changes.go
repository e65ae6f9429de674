package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/openagent-go/agent/internal/safefile"
)

const (
	changesName = ".changes.jsonl"
	ignoreName  = ".gitignore"
	// maxChanges is the size from which on the record of changes is shortened to the newest.
	maxChanges = 2 << 20
	keptChange = 500
)

// ignored keeps what is of this machine alone out of the repository.
const ignored = ".lock\n.reviews\n.changes.jsonl\n.gitignore\n*.openagent-tmp\n"

// A Reason says who changes a store, and why.
type Reason struct {
	By  string `json:"by"`            // "person", "agent" or "review"
	Why string `json:"why,omitempty"` // for people
}

// A Change is on record in a store.
type Change struct {
	N    int       `json:"n"`    // from 1
	Time time.Time `json:"time"` // when it was made
	Reason
	// Files are what changed, by the ids of entries.
	Files []FileChange `json:"files,omitempty"`
	// Reviewed is the session of which the change is the review.
	Reviewed string `json:"reviewed,omitempty"`
	// Undoes is the number of the change that this one undid.
	Undoes int `json:"undoes,omitempty"`
}

// A FileChange is the content of an entry's file before and after a change.
type FileChange struct {
	ID     string  `json:"id"`               // of the entry
	Before *string `json:"before,omitempty"` // nil: there was no file
	After  *string `json:"after,omitempty"`  // nil: the file was deleted
}

// A draft collects what a change is going to do.
type draft struct {
	store   *Store
	all     []Change     // those before
	late    []FileChange // of them, what was only carried out now
	change  *Change
	entries map[string]*Entry
	before  map[string]*string // files as they are
	after   map[string]*string // those that change
}

// apply carries out one change under the lock: all of it, or nothing. A process that dies in the
// middle leaves it to the next one that changes the store.
func (s *Store) apply(ctx context.Context, c Change, do func(*draft) error) (Change, error) {
	err := s.locked(ctx, func() error {
		all, late, err := s.complete()
		if err != nil {
			return err
		}
		d := &draft{store: s, all: all, late: late, change: &c, entries: map[string]*Entry{}, before: map[string]*string{}, after: map[string]*string{}}
		if err := do(d); err != nil {
			return err
		}
		for id, after := range d.after {
			if !same(d.before[id], after) {
				c.Files = append(c.Files, FileChange{id, d.before[id], after})
			}
		}
		slices.SortFunc(c.Files, func(a, b FileChange) int { return bytes.Compare([]byte(a.ID), []byte(b.ID)) })
		if len(c.Files) == 0 && c.Reviewed == "" {
			return nil
		}
		c.N, c.Time, c.Why = 1, s.now().UTC(), secrets.Text(c.Why)
		if len(all) > 0 {
			c.N = all[len(all)-1].N + 1
		}
		if err := s.record(c, all); err != nil {
			return err
		}
		if err := s.carryOut(c); err != nil {
			return err
		}
		return s.markDone(c.N)
	})
	return c, err
}

// carryOut writes the files of a change that is on record.
func (s *Store) carryOut(c Change) error {
	for _, f := range c.Files {
		var data []byte
		if f.After != nil {
			data = []byte(*f.After)
		}
		if err := s.put(f.ID+".md", data); err != nil {
			return fmt.Errorf("changing entry %s: %w", f.ID, err)
		}
	}
	return s.writeIndex()
}

// markDone notes, in the file of the lock, that the files of change n are written. A change that is
// done is not completed later: its files may have been taken back since, as by rewinding a session.
func (s *Store) markDone(n int) error {
	f, err := safefile.Open(filepath.Join(s.Path(), lockName), os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("noting that a change is done: %w", err)
	}
	_, err = fmt.Fprintf(f, "%020d\n", n)
	return errors.Join(err, f.Close())
}

// isDone reports whether change n was noted as done.
func (s *Store) isDone(n int) bool {
	data, err := readFile(filepath.Join(s.Path(), lockName), 64)
	return err == nil && string(data) == fmt.Sprintf("%020d\n", n)
}

// record adds a change to the record.
func (s *Store) record(c Change, all []Change) error {
	path := filepath.Join(s.Path(), changesName)
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	info, err := safefile.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := errors.Join(s.syncParents(), s.put(ignoreName, []byte(ignored))); err != nil {
			return err
		}
	case err != nil:
		return err
	case info.Size() > maxChanges:
		return s.shorten(append(all, c))
	}
	f, err := safefile.Open(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return fmt.Errorf("opening the record of changes: %w", err)
	}
	_, err = f.Write(line)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing the record of changes: %w", err)
	}
	return safefile.SyncFolder(s.Path())
}

// shorten writes the record with the newest changes only.
func (s *Store) shorten(all []Change) error {
	var b bytes.Buffer
	for _, c := range all[max(0, len(all)-keptChange):] {
		line, err := json.Marshal(c)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	path := filepath.Join(s.Path(), changesName)
	return safefile.Replacement{Temp: safefile.TempName(path)}.Bytes(path, b.Bytes())
}

// Changes returns the changes on record, the oldest first. The newest 500 are kept at least.
func (s *Store) Changes() ([]Change, error) {
	all, _, err := s.changes()
	return all, err
}

// changes returns the changes, and how many bytes of the file hold them.
func (s *Store) changes() (all []Change, size int64, err error) {
	if err := s.straight(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, 0, err
	}
	data, err := readFile(filepath.Join(s.Path(), changesName), 64<<20)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, 0, err
	}
	for len(data) > 0 {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		var c Change
		if !whole || json.Unmarshal(line, &c) != nil || !c.valid() {
			if len(rest) > 0 {
				return nil, 0, fmt.Errorf("%s: line %d is damaged; move the file away to continue without the record", filepath.Join(s.Path(), changesName), len(all)+1)
			}
			break // the writer died in the line
		}
		all, size, data = append(all, c), size+int64(len(line))+1, rest
	}
	return all, size, nil
}

// valid reports whether the files of a change can be files of entries, and more changes can follow.
func (c *Change) valid() bool {
	return c.N >= 0 && c.N < math.MaxInt/2 && !slices.ContainsFunc(c.Files, func(f FileChange) bool {
		return !validID.MatchString(f.ID) || f.After != nil && len(*f.After) > maxFile
	})
}

// complete reads the record. It removes a line in which a writer died, and carries out what the
// newest change has not done yet. A file that is neither as before nor as after was changed by a
// person and is left alone.
func (s *Store) complete() (all []Change, left []FileChange, err error) {
	all, size, err := s.changes()
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(s.Path(), changesName)
	if info, err := safefile.Lstat(path); err == nil && info.Size() > size {
		f, err := safefile.Open(path, os.O_WRONLY)
		if err != nil {
			return nil, nil, err
		}
		if err := errors.Join(f.Truncate(size), f.Sync(), f.Close()); err != nil {
			return nil, nil, err
		}
	}
	if len(all) == 0 {
		return nil, nil, nil
	}
	last := all[len(all)-1]
	if s.isDone(last.N) {
		return all, nil, nil
	}
	for _, f := range last.Files {
		now, err := s.content(f.ID)
		if err != nil {
			return nil, nil, err
		}
		if !same(pointer(now), f.After) && same(pointer(now), f.Before) {
			left = append(left, f)
		}
	}
	if len(left) > 0 {
		return all, left, s.carryOut(Change{Files: left})
	}
	return all, nil, nil
}

// entry returns an entry to be changed.
func (d *draft) entry(id string) (*Entry, error) {
	if e := d.entries[id]; e != nil {
		return e, nil
	}
	e, err := d.store.Entry(id)
	if err != nil {
		return nil, err
	}
	data, err := d.store.content(id)
	if err != nil {
		return nil, err
	}
	d.entries[id], d.before[id] = e, pointer(data)
	return e, nil
}

// set states what an entry is going to be.
func (d *draft) set(e *Entry) error {
	if err := e.check(); err != nil {
		return fmt.Errorf("entry %q: %w", e.Title, err)
	}
	if rule := secrets.SecretIn(e.Title + "\n" + e.Text); rule != "" {
		return fmt.Errorf("entry %q holds a secret, by the rule %q; secrets are not kept", secrets.Text(e.Title), rule)
	}
	data, err := e.format()
	if err != nil {
		return err
	}
	if e.State == Active && d.store.Trust != nil {
		if err := d.store.Trust.Add(d.store.File(e.ID), data); err != nil {
			return fmt.Errorf("trusting entry %s: %w", e.ID, err)
		}
	}
	d.entries[e.ID], d.after[e.ID] = e, pointer(data)
	return nil
}

// Undo brings the files of a change back to what they were before. n is its number; 0 is the
// newest that was not undone. Undo changes nothing if one of the files has been changed since.
func (s *Store) Undo(ctx context.Context, n int, r Reason) (Change, error) {
	return s.apply(ctx, Change{Reason: r}, func(d *draft) error {
		c, err := undoable(d.all, n)
		if err != nil {
			return err
		}
		for _, f := range c.Files {
			now, err := s.content(f.ID)
			if err != nil {
				return err
			}
			if !same(pointer(now), f.After) {
				return fmt.Errorf("entry %s has been changed since change %d; undo what came later first, or edit %s", f.ID, c.N, s.File(f.ID))
			}
			d.before[f.ID], d.after[f.ID] = f.After, f.Before
		}
		d.change.Undoes = c.N
		return nil
	})
}

// undoable returns change number n, or the newest one for 0.
func undoable(all []Change, n int) (Change, error) {
	undone := map[int]bool{}
	for _, c := range slices.Backward(all) {
		switch {
		case n != 0 && c.N != n, n == 0 && (undone[c.N] || c.Undoes != 0 || len(c.Files) == 0):
			if c.Undoes != 0 {
				undone[c.Undoes] = true
			}
			continue
		case undone[c.N]:
			return c, fmt.Errorf("change %d was undone before", n)
		case len(c.Files) == 0:
			return c, fmt.Errorf("change %d changed no entry", n)
		}
		return c, nil
	}
	if n == 0 {
		return Change{}, errors.New("there is no change to undo")
	}
	return Change{}, fmt.Errorf("there is no change %d on record", n)
}

func same(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// pointer returns the content of a file, nil if there is no file.
func pointer(data []byte) *string {
	if data == nil {
		return nil
	}
	s := string(data)
	return &s
}
