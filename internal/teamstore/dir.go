package teamstore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/safefile"
	"github.com/openagent-go/agent/internal/text"
)

// MaxSpace is how many bytes a [Dir] stores of a space. Beyond them it fails with
// [ErrLimit].
const MaxSpace = 256 << 20

const maxSpaceName = 1000 // bytes

// lookEvery is how often a watcher looks for mail of other programs.
const lookEvery = 200 * time.Millisecond

// A Dir keeps tasks, teams, mail and names in a folder, for all programs of this
// machine that are given the same one. Each space has its own folder:
//
//	journal.jsonl  the operations, a line each with a checksum
//	lock           locked while someone reads or writes the journal
//	mail/          files that are locked while someone takes from a mailbox
//	alive/         files that programs lock while their agents are running
//
// When a method returns without an error, its change is on the disk. A crash in the middle
// of a write leaves a line that the next program cuts off. A journal of more than 1 MB that
// has grown to four times its content is rewritten. A journal damaged elsewhere stays as it
// is, and the methods fail with [ErrDamaged].
//
// Folders are made with mode 0700 and files 0600; symbolic links are not followed.
// A Dir is safe for concurrent use and must be closed.
type Dir struct {
	Path string // it is made when need be
	// In is the name of a folder within that of each space. Set it if other stores, such as
	// a session.Dir, have folders of the same names in Path: the tasks of a session then go
	// with it. "" puts the files into the space's folder.
	In  string
	Now func() time.Time // nil: time.Now
	Box int              // messages that a mailbox holds; 0: MaxBox
	Log *slog.Logger     // hears about the repair after a crash; nil: no report

	most     int64 // bytes of a space; 0: MaxSpace
	mu       sync.Mutex
	desks    map[string]*journalStore
	turns    turns
	watchers watchers
}

var (
	_ Tasks   = (*Dir)(nil)
	_ Teams   = (*Dir)(nil)
	_ Mail    = (*Dir)(nil)
	_ Agents  = (*Dir)(nil)
	_ Watcher = (*Dir)(nil)
)

// folder is where the files of a space are. Within the folders of others it is the one
// of the same name, unless an older version has made one with a hash for a name.
func (d *Dir) folder(space string) string {
	named, hashed := filepath.Join(d.Path, space, d.In), filepath.Join(d.Path, hashName(space), d.In)
	switch {
	case plainName(space):
		return named
	case d.In == "" || !localName(space):
		return hashed
	}
	if _, err := safefile.Lstat(hashed); err == nil {
		return hashed
	}
	return named
}

// at calls fn with the journalStore of a space.
func (d *Dir) at(space string, fn func(*journalStore) error) error {
	switch {
	case d.Path == "":
		return errors.New("the folder of tasks and teams has no path")
	case !utf8.ValidString(space) || len(space) > maxSpaceName:
		return fmt.Errorf("%w space %q: it is not UTF-8, or has more than %d bytes", ErrInvalid, text.Bytes(space, maxShown), maxSpaceName)
	}
	for {
		d.mu.Lock()
		s := d.desks[space]
		if s == nil {
			folder := d.folder(space)
			if err := noLinks(d.Path, folder); err != nil {
				d.mu.Unlock()
				return fmt.Errorf("opening the folder of a space: %w", err)
			}
			s = &journalStore{space: space, folder: folder, most: cmp.Or(d.most, MaxSpace), log: d.Log, turn: make(chan struct{}, 1), lock: lock{path: filepath.Join(folder, lockName)}}
			if d.desks == nil {
				d.desks = map[string]*journalStore{}
			}
			d.desks[space] = s
		}
		d.mu.Unlock()
		if err := fn(s); !errors.Is(err, errClosed) {
			return err
		}
	}
}

// now is the moment as the journal will have it.
func (d *Dir) now() time.Time { return clock(d.Now).UTC().Round(0) }

// see implements backend.
func (d *Dir) see(ctx context.Context, space string, fn func(r *state, now time.Time) error) error {
	return d.at(space, func(s *journalStore) error {
		return s.withLock(ctx, true, func() error { return fn(s.room, d.now()) })
	})
}

// do implements backend.
func (d *Dir) do(ctx context.Context, space string, a op) error {
	return d.write(ctx, space, func(s *journalStore) (safefile.File, error) { return s.do(a, d.now()) })
}

// write calls fn, which does acts, and brings them to the disk.
func (d *Dir) write(ctx context.Context, space string, fn func(*journalStore) (safefile.File, error)) error {
	var file safefile.File
	refused := d.at(space, func(s *journalStore) error {
		return s.withLock(ctx, false, func() (err error) {
			file, err = fn(s)
			return err
		})
	})
	if file != nil {
		// Other goroutines write in the meantime, and this sync covers their lines as well.
		// A closed file was replaced by one that was synced with all its content.
		if err := file.Sync(); err != nil && !errors.Is(err, fs.ErrClosed) {
			return fmt.Errorf("writing the journal of a space: %w", err)
		}
	}
	return unlessUnchanged(refused)
}

// EndSession closes the files of a session's space. Their content stays, and they are
// opened again when needed.
func (d *Dir) EndSession(session string) error {
	d.mu.Lock()
	s := d.desks[session]
	delete(d.desks, session)
	d.mu.Unlock()
	if s == nil {
		return nil
	}
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.closed = true
	return s.close()
}

// Copy copies the tasks and teams of a space into an empty one, for the copy of a session.
// Mail and running agents are not copied, so tasks in progress are pending in the copy.
func (d *Dir) Copy(ctx context.Context, from, to string) error {
	copied, err := copyOf(ctx, d, from)
	if err != nil || copied == nil {
		return err
	}
	return d.at(to, func(s *journalStore) error {
		return s.withLock(ctx, false, func() error {
			if s.base > 0 || !s.room.empty() {
				return errOccupied(to)
			}
			s.room = copied
			if err := s.compact(d.now()); err != nil {
				return errors.Join(fmt.Errorf("copying tasks and teams: %w", err), s.forget())
			}
			return nil
		})
	})
}

// Close closes all files. The Dir can be used again.
func (d *Dir) Close() error {
	d.mu.Lock()
	spaces := slices.Sorted(maps.Keys(d.desks))
	d.mu.Unlock()
	var errs []error
	for _, space := range spaces {
		errs = append(errs, d.EndSession(space))
	}
	return errors.Join(errs...)
}

// Register implements [Agents]. An agent is running while the program lives, and
// until its session is ended or the Dir is closed; then its name can be taken again.
func (d *Dir) Register(ctx context.Context, space string, a Agent) error {
	return d.write(ctx, space, func(s *journalStore) (safefile.File, error) {
		holder, err := s.hold(ctx)
		if err != nil {
			return nil, err
		}
		if old, known := s.room.holders[a.Name]; known && !s.lives(old) {
			if file, err := s.do(&unregister{a.Name}, d.now()); err != nil {
				return file, err
			}
		}
		return s.do(&register{a, holder}, d.now())
	})
}

// Agents implements [Agents].
func (d *Dir) Agents(ctx context.Context, space string) (out []Agent, err error) {
	err = d.at(space, func(s *journalStore) error {
		return s.withLock(ctx, safefile.Missing(s.path()), func() error {
			out = slices.DeleteFunc(slices.Clone(s.room.agents), func(a Agent) bool { return !s.lives(s.room.holders[a.Name]) })
			return nil
		})
	})
	return out, err
}

// Take implements [Mail].
func (d *Dir) Take(ctx context.Context, space, agent string, keep func([]Message) error) (err error) {
	at := address{space, agent}
	done, err := d.turns.wait(ctx, at)
	if err != nil {
		return err
	}
	defer done()
	messages, err := waiting(ctx, d, at)
	if err != nil || len(messages) == 0 {
		return err
	}
	// The mailbox is for other programs as well.
	sum := sha256.Sum256([]byte(agent))
	folder := filepath.Join(d.folder(space), mailFolder)
	if err := makeFolder(folder); err != nil {
		return fmt.Errorf("making the folder of mailboxes: %w", err)
	}
	box := lock{path: filepath.Join(folder, hex.EncodeToString(sum[:16]))}
	if err := box.take(ctx); err != nil {
		return errors.Join(err, box.close())
	}
	defer func() { err = errors.Join(err, box.close()) }()
	return take(ctx, d, at, keep)
}

// Watch implements [Watcher]. Mail of other programs is noticed within 200 ms.
func (d *Dir) Watch(ctx context.Context, space, agent string) (<-chan struct{}, error) {
	at := address{space, agent}
	path := filepath.Join(d.folder(space), journalName)
	last, _ := safefile.Lstat(path) // before the first look into the mailbox: nothing may come in between
	c, err := watch(ctx, d, &d.watchers, at)
	if err == nil {
		go d.look(ctx, at, path, last)
	}
	return c, err
}

// look tells of mail from other programs until the context ends.
func (d *Dir) look(ctx context.Context, at address, path string, last fs.FileInfo) {
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		info, err := safefile.Lstat(path)
		if err != nil || last != nil && safefile.SameFile(info, last) && info.Size() == last.Size() {
			continue
		}
		last = info
		if messages, err := waiting(ctx, d, at); err == nil && len(messages) > 0 {
			d.watchers.tell(at)
		}
	}
}
