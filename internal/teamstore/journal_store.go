package teamstore

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/safefile"
	"github.com/openagent-go/agent/internal/text"
)

const (
	journalName = "journal.jsonl"
	lockName    = "lock"
	mailFolder  = "mail" // of the locks of mailboxes

	compactAbove = 1 << 20 // bytes of a journal that is not worth the trouble
)

// Errors of [Dir].
var (
	// ErrDamaged is a journal that cannot be read. It stays as it is.
	ErrDamaged = errors.New("the journal is damaged")
	errNewer   = errors.New("it was written by a newer version of this program")
)

// A journalStore is where this program works on the files of a space.
type journalStore struct {
	space  string
	folder string
	most   int64 // bytes of the journal
	log    *slog.Logger

	holder  string // names this program while agents of it are running
	holding lock   // of the file of that name

	turn   chan struct{} // held during an operation
	closed bool          // the dir has forgotten it
	lock   lock

	// The content of the journal as far as it was read. Nil: nothing.
	room *state
	file safefile.File
	info fs.FileInfo // of file, when it was opened
	size int64       // of the acts that the room has
	base int64       // of the journal when it was last rewritten, 0: never
}

func (s *journalStore) path() string { return filepath.Join(s.folder, journalName) }

// withLock calls fn with the state of the journal while no other program changes it. A
// reader need not wait for the lock if nothing was written since.
func (s *journalStore) withLock(ctx context.Context, reading bool, fn func() error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.closed {
		return errClosed
	}
	if reading && s.upToDate() {
		return fn()
	}
	if reading && s.file == nil && safefile.Missing(s.path()) {
		s.room = newRoom() // who only looks leaves no traces
		return fn()
	}
	err = s.lock.take(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		if err := safefile.MakeFolders(s.folder); err != nil {
			return fmt.Errorf("making the folder of a space: %w", err)
		}
		err = s.lock.take(ctx)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.lock.release()) }()
	if err := s.catchUp(); err != nil {
		return err
	}
	return fn()
}

// errClosed makes callers that waited for a closed store open a new one.
var errClosed = errors.New("the store of tasks and teams is closed")

// upToDate reports whether the room has all that is in the journal.
func (s *journalStore) upToDate() bool {
	if s.file == nil {
		return false
	}
	info, err := safefile.Lstat(s.path())
	return err == nil && safefile.SameFile(info, s.info) && info.Size() == s.size
}

// forget makes the next operation read the journal again. Pending syncs finish before the
// file is closed.
func (s *journalStore) forget() error {
	file := s.file
	s.room, s.file, s.info, s.size, s.base = nil, nil, nil, 0, 0
	if file == nil {
		return nil
	}
	return errors.Join(file.Sync(), file.Close())
}

// catchUp reads the lines written since the last time. The lock is held.
func (s *journalStore) catchUp() error {
	if s.upToDate() {
		return nil
	}
	if info, err := safefile.Lstat(s.path()); s.file != nil && (err != nil || !safefile.SameFile(info, s.info) || info.Size() < s.size) {
		if err := s.forget(); err != nil { // another process rewrote it
			return err
		}
	}
	if s.file == nil {
		if err := s.open(); err != nil {
			return errors.Join(err, s.forget())
		}
	}
	if err := s.read(); err != nil {
		return errors.Join(fmt.Errorf("reading %s: %w", s.path(), err), s.forget())
	}
	return nil
}

func (s *journalStore) open() error {
	f, err := safefile.Open(s.path(), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("opening the journal of a space: %w", err)
	}
	s.file, s.room = f, newRoom()
	if s.info, err = f.Stat(); err != nil {
		return err
	}
	if s.info.Size() > 0 {
		return nil
	}
	// It is new, or a program has died before its name was on the disk.
	return errors.Join(safefile.MakeFolders(s.folder), safefile.SyncFolder(s.folder))
}

// read applies the operations that the state does not have yet. It cuts off an operation
// that a crash left unfinished.
func (s *journalStore) read() error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	end := info.Size()
	if end > s.most {
		return fmt.Errorf("%w: it has %d bytes, at most %d are read", ErrLimit, end, s.most)
	}
	r := bufio.NewReaderSize(io.NewSectionReader(s.file, s.size, end-s.size), 64<<10)
	for s.size < end {
		line, err := readLine(r)
		if err != nil {
			return err
		}
		if !sealed(line) {
			if s.size+int64(len(line)) < end || !torn(line) {
				return fmt.Errorf("%w at byte %d: the checksum does not match; correct the file or move it away", ErrDamaged, s.size)
			}
			return s.cut(end)
		}
		if err := s.again(line); err != nil {
			return fmt.Errorf("%w: byte %d: %w; correct the file or move it away", ErrDamaged, s.size, err)
		}
		s.size += int64(len(line))
	}
	if s.size == 0 {
		return s.begin()
	}
	if s.room.unchecked {
		return fmt.Errorf("%w: its beginning is not complete; correct the file or move it away", ErrDamaged)
	}
	return nil
}

// readLine returns a line with its newline. At the end, or if the line is too long, it
// returns the bytes read so far.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for len(line) < maxLine {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if err == nil || err == io.EOF {
			return line, nil
		}
		if err != bufio.ErrBufferFull {
			return nil, err
		}
	}
	return line, nil
}

// again does the act of a line; the first line is the header.
func (s *journalStore) again(line []byte) error {
	if s.size == 0 {
		var h header
		if err := json.Unmarshal(line, &h); err != nil {
			return err
		}
		switch {
		case h.Version > journalVersion:
			return errNewer
		case h.Version != journalVersion || h.Space != s.space:
			return fmt.Errorf("%w: the journal belongs to the space %q", ErrInvalid, text.Bytes(h.Space, maxShown))
		}
		return nil
	}
	a, name, at, err := decode(line)
	if err != nil {
		return err
	}
	if s.room.unchecked && !strings.HasPrefix(name, putBack) {
		return fmt.Errorf("%w: its beginning is not complete", ErrInvalid)
	}
	if _, ends := a.(*snapshotDone); ends {
		s.base = s.size + int64(len(line))
	}
	return a.do(s.room, at)
}

// cut removes everything after the last whole operation.
func (s *journalStore) cut(end int64) error {
	if s.log != nil {
		s.log.Warn("cutting off an act that was not finished", "file", s.path(), "bytes", end-s.size)
	}
	if err := s.file.Truncate(s.size); err != nil {
		return fmt.Errorf("cutting off an unfinished operation: %w", err)
	}
	if s.size == 0 {
		return s.begin()
	}
	if s.room.unchecked {
		return fmt.Errorf("%w: its beginning is not complete; correct the file or move it away", ErrDamaged)
	}
	return nil
}

// begin writes the header.
func (s *journalStore) begin() error {
	line, err := seal(header{journalVersion, s.space})
	if err != nil {
		return err
	}
	return s.append(line)
}

// append writes lines. A partial write counts as none; the state must then be read again.
func (s *journalStore) append(lines []byte) error {
	n, err := s.file.WriteAt(lines, s.size)
	if err != nil {
		if n > 0 {
			err = errors.Join(err, s.file.Truncate(s.size)) // or the next to read it does
		}
		return err
	}
	s.size += int64(len(lines))
	return nil
}

// do does an act and writes it down. It returns the file that must be brought
// to the disk, nil where nothing was written. The lock is held.
func (s *journalStore) do(a op, at time.Time) (safefile.File, error) {
	var lines []byte
	if s.room.tasks.expired(at) {
		line, err := encode(&expire{}, at)
		if err != nil {
			return nil, err
		}
		lines = line
		s.room.tasks.expire(at)
	}
	line, strange := encode(a, at) // before it is done, as it will be read
	if over := s.size + int64(len(lines)+len(line)); over > s.most {
		if s.size > s.base {
			if err := s.compact(at); err != nil {
				return nil, errors.Join(err, s.forget())
			}
			lines = nil // the new journal holds expired leases too
		}
		if over := s.size + int64(len(lines)+len(line)); over > s.most {
			return nil, fmt.Errorf("%w: the tasks, teams and mail of these agents would take %d MB; the limit is %d MB", ErrLimit, over>>20, s.most>>20)
		}
	}
	refused := a.do(s.room, at)
	switch {
	case refused == nil && strange != nil:
		return nil, errors.Join(strange, s.forget())
	case refused == nil:
		lines = append(lines, line...)
	}
	if len(lines) == 0 {
		return nil, refused
	}
	if err := s.append(lines); err != nil {
		return nil, errors.Join(fmt.Errorf("writing %s: %w", s.path(), err), s.forget())
	}
	if s.size > max(compactAbove, 4*s.base) {
		if err := s.compact(at); err != nil && s.log != nil {
			s.log.Warn("rewriting a journal", "file", s.path(), "error", err)
		}
	}
	return s.file, refused
}

// compact replaces the journal by one that holds only the present state. The lock is held.
func (s *journalStore) compact(at time.Time) error {
	var size int64
	err := safefile.Replacement{Temp: safefile.TempName(s.path())}.Stream(s.path(), func(w io.Writer) (err error) {
		size, err = s.write(w, at)
		return err
	})
	if err != nil {
		s.base = max(s.base, s.size/2) // it is tried again when it has doubled
		return err
	}
	f, err := safefile.Open(s.path(), os.O_RDWR)
	if err != nil {
		return err // the next one to take the lock opens it
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	old := s.file
	s.file, s.info, s.size, s.base = f, info, size, size
	return old.Close()
}

// write writes the present state.
func (s *journalStore) write(to io.Writer, at time.Time) (size int64, err error) {
	w := bufio.NewWriterSize(to, 64<<10)
	put := func(line []byte, err error) error {
		if err == nil {
			_, err = w.Write(line)
			size += int64(len(line))
		}
		return err
	}
	if err := put(seal(header{journalVersion, s.space})); err != nil {
		return 0, err
	}
	for a := range s.room.acts {
		if err := put(encode(a, at)); err != nil {
			return 0, err
		}
	}
	return size, w.Flush()
}

// close closes the files and forgets the state; agents of this program no longer count as
// running.
func (s *journalStore) close() error { return errors.Join(s.letGo(), s.forget(), s.lock.close()) }
