package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/safefile"
)

// A journal is a session of a [Dir], opened for writing.
type journal struct {
	id     string
	folder string
	path   string // of the file
	lock   *lock

	mu   sync.Mutex
	file safefile.File
	info fs.FileInfo // tells the file from one put in its place
	size int64
	last int64
	torn int64
	enc  encoder

	about summary // of all that is in the file
	told  int64   // how much of it the file for lists covers
	err   error   // why nothing more can be appended
}

// open reads the journal to its end, or begins it. The lock is held.
func (l *journal) open(header Header) (err error) {
	if l.file, err = safefile.Open(l.path, os.O_RDWR|os.O_APPEND|os.O_CREATE); err != nil {
		return err
	}
	if l.info, err = l.file.Stat(); err != nil {
		return err
	}
	from, err := l.scan()
	if err != nil {
		return err
	}
	if from < version {
		return l.upgrade(header, from)
	}
	if l.torn = l.info.Size() - l.size; l.torn > 0 {
		if err := l.keepTorn(); err != nil {
			return fmt.Errorf("keeping the unfinished record of %s: %w", l.path, err)
		}
		if err := l.cut(); err != nil {
			return fmt.Errorf("cutting the unfinished record off %s: %w", l.path, err)
		}
	}
	if l.size == 0 {
		if header.Branch == "" && header.Parent == nil && header.Dir != "" {
			header.Branch = branchAt(header.Dir)
		}
		l.about = summary{Info: Info{Header: header, Updated: header.Created}}
		return l.begin(header)
	}
	now, ok := readSummary(l.folder, l.id, l.size)
	if !ok || now.Size != l.size { // the last writer has died, perhaps before the names were on the disk
		if err := l.syncNames(); err != nil {
			return err
		}
	}
	if !ok || now.Size != l.size || now.progress.unknown {
		l.writeSummary()
	} else {
		l.told, l.about.progress = l.size, now.progress
	}
	// From now on later facts depend on data that the last writer did not sync.
	return l.file.Sync()
}

// writeSummary writes the file for lists. A failure does no harm.
func (l *journal) writeSummary() {
	l.about.Size = l.size
	if l.about.progress.unknown {
		l.about.derive(l.path, l.file)
	}
	if l.about.write(l.folder) == nil {
		l.told = l.size
	}
}

// scan checks the whole file and finds its last whole record. It returns the
// version that the file is of.
func (l *journal) scan() (from int, err error) {
	s := newScanner(l.path, io.NewSectionReader(l.file, 0, math.MaxInt64), 64<<10)
	header, err := s.header(l.id)
	l.about = summary{Info: Info{Header: header, Updated: header.Created}}
	load := func(hash string, limit int64) ([]byte, error) { return loadBlob(l.folder, hash, limit) }
	for err == nil {
		var r record
		if r, err = s.record(); err == nil {
			l.about.record(&r, load)
		}
	}
	l.size, l.last = s.end, s.last
	return s.from, ignoreEOF(err)
}

// begin writes the header into an empty file.
func (l *journal) begin(header Header) error {
	l.enc.reset()
	if err := l.enc.header(header); err != nil {
		return err
	}
	if err := l.write(true); err != nil {
		return fmt.Errorf("writing %s: %w", l.path, err)
	}
	return l.syncNames()
}

// syncNames brings the names of the session's files and its folder to the disk.
func (l *journal) syncNames() error {
	return errors.Join(safefile.SyncFolder(l.folder), safefile.SyncFolder(filepath.Dir(l.folder)))
}

// keepTorn copies the bytes to be cut off to a file beside the journal.
func (l *journal) keepTorn() error {
	f, err := safefile.Open(filepath.Join(l.folder, tornName), os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, `{"offset":%d,"bytes":%d}`+"\n", l.size, l.torn)
	if err == nil {
		_, err = io.Copy(f, io.NewSectionReader(l.file, l.size, l.torn))
	}
	if err == nil {
		_, err = f.Write([]byte("\n"))
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return safefile.SyncFolder(l.folder)
}

// cut removes everything behind the last whole record. It opens the file once more because
// Windows does not let an appending handle do it.
func (l *journal) cut() error {
	f, err := safefile.Open(l.path, os.O_RDWR)
	if err != nil {
		return err
	}
	if err = f.Truncate(l.size); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Last implements [Log].
func (l *journal) Last() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Torn returns how many bytes of an unfinished last record, left by a crash or a full disk,
// were cut off when l was opened. [Dir] keeps them in the file journal.jsonl.torn.
func (l *journal) Torn() int64 { return l.torn }

// Append implements [Log].
func (l *journal) Append(ctx context.Context, after int64, sync bool, events ...event.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	if err := CheckAppend(ctx, l.id, l.last, after, events); err != nil {
		return fmt.Errorf("appending to session %s: %w", l.id, err)
	}
	l.enc.reset()
	for _, e := range events {
		if err := l.enc.fact(e); err != nil {
			return fmt.Errorf("appending to session %s: %w", l.id, err)
		}
	}
	if err := l.commit(sync); err != nil {
		l.err = &brokenError{path: l.path, err: err}
		return l.err
	}
	l.last += int64(len(events))
	for _, e := range events {
		l.about.event(e)
	}
	if l.size-l.told > summaryEvery {
		l.writeSummary()
	}
	return nil
}

// commit writes the encoder's lines, and before them the blobs that they name.
func (l *journal) commit(sync bool) error {
	if err := l.fence(); err != nil {
		return err
	}
	if len(l.enc.blobs) > 0 {
		if err := storeBlobs(l.folder, l.enc.blobs); err != nil {
			return cmp.Or(l.fence(), err) // the folder may have gone just now
		}
	}
	return l.write(sync)
}

// fence returns an error if the journal or the lock is not as we left it.
func (l *journal) fence() error {
	if err := l.lock.held(); err != nil {
		return err
	}
	now, err := safefile.Lstat(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !safefile.SameFile(now, l.info):
		return ErrLost
	case err != nil:
		return err
	case now.Size() != l.size:
		return fmt.Errorf("%w: it has %d bytes, not %d; open the session again", ErrConflict, now.Size(), l.size)
	}
	return nil
}

// write appends the encoder's lines, all of them or, as far as the disk lets us, none.
func (l *journal) write(sync bool) error {
	if lines := l.enc.buf.Bytes(); len(lines) > 0 {
		n, err := l.file.Write(lines)
		if err != nil {
			if n > 0 {
				_ = l.cut() // else the next one to open the session does it
			}
			return err
		}
		l.size += int64(n)
	}
	if sync {
		return l.file.Sync()
	}
	return nil
}

// Close implements [Log].
func (l *journal) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lock == nil {
		return nil
	}
	var err error
	if l.file != nil {
		if l.err == nil && l.size != l.told && l.fence() == nil {
			l.writeSummary()
		}
		err = l.file.Close()
	}
	err = errors.Join(err, l.lock.release())
	l.lock = nil
	l.err = fmt.Errorf("appending to session %s: %w", l.id, fs.ErrClosed)
	return err
}
