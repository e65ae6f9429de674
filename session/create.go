package session

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/safefile"
)

// A forker makes forks that are there whole or not at all, whenever the program is killed.
type forker interface {
	forkWhole(ctx context.Context, src Store, from Info, to string, through int64) error
}

// Create implements [Creator].
func (d folderStore) Create(ctx context.Context, header Header, facts []event.Event) error {
	if header.Branch == "" && header.Parent == nil && header.Dir != "" {
		header.Branch = branchAt(header.Dir)
	}
	header.Created = created(header.Created)
	a := summary{Info: Info{Header: header, Updated: header.Created}}
	for i, e := range facts {
		if err := checkFact(e, header.Session, int64(i)+1); err != nil {
			return err
		}
		a.event(e)
	}
	return d.compose(ctx, &a, func(folder string, w io.Writer) error {
		return writeAll(folder, w, header, each(facts))
	})
}

// forkWhole implements forker. The lines of the facts are checked and copied as
// they are, so that a fork costs as little as a copy of the file.
func (d folderStore) forkWhole(ctx context.Context, src Store, from Info, to string, through int64) error {
	source, ok := src.(folderStore)
	if !ok {
		return forkFacts(ctx, src, d, from, to, through)
	}
	folder, err := source.existing(ctx, from.Session)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, journalName)
	journal, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer journal.Close()
	o := origin{folder: folder, journal: journal}
	o.about.Header = Header{Session: to, Created: created(time.Time{}), Dir: from.Dir, Branch: from.Branch, Agent: from.Agent}
	o.about.Updated = o.about.Header.Created
	s := newScanner(path, io.NewSectionReader(journal, 0, math.MaxInt64), 64<<10)
	if err := o.survey(ctx, s, from.Session, through); err != nil {
		return err
	}
	if through == 0 {
		if err := o.unfinished(); err != nil {
			return err
		}
	}
	if s.from != version {
		return forkFacts(ctx, source, d, from, to, through)
	}
	o.about.Header.Parent = &Position{Session: from.Session, Seq: s.last}
	return d.compose(ctx, &o.about, func(folder string, w io.Writer) error {
		if err := o.agents.copy(ctx, source.Under(from.Session), d.Under(to)); err != nil {
			return err
		}
		return o.write(folder, w)
	})
}

// An origin describes the session that a fork is made from.
type origin struct {
	folder     string
	journal    safefile.File
	begin, end int64    // where the lines of the facts are
	torn       []byte   // unfinished record after them
	blobs      []string // that they name
	about      summary  // the fork
	agents     agents   // that go with it
}

// survey checks the facts up to number through, or to the end, and collects their blobs and
// agents.
func (o *origin) survey(ctx context.Context, s *scanner, id string, through int64) error {
	load := func(hash string, limit int64) ([]byte, error) { return loadBlob(o.folder, hash, limit) }
	_, err := s.header(id)
	o.begin = s.end
	known := map[string]bool{}
	for err == nil && (through == 0 || s.last < through) {
		var r record
		if r, err = s.record(); err != nil {
			break
		}
		o.about.record(&r, load)
		if r.Type == typeAgent {
			e, err := r.event("", load)
			if err != nil {
				return s.corrupt(err)
			}
			o.agents.fact(e.Data)
		}
		for _, name := range blobNames(&r) {
			hash := r.Blobs[name]
			if known[hash] {
				continue
			}
			if _, err := load(hash, maxLine); err != nil {
				return s.corrupt(fmt.Errorf("blob %s: %w", hash, err))
			}
			known[hash] = true
			o.blobs = append(o.blobs, hash)
		}
		err = ctx.Err()
	}
	if err := ignoreEOF(err); err != nil {
		return err
	}
	if through != 0 && s.last != through {
		return fmt.Errorf("fact %d of %s: %w", through, id, ErrNotFound)
	}
	o.end = s.end
	return nil
}

// unfinished reads the unfinished record that a crash left at the end of the journal. The
// fork gets it too: opening the fork cuts it off and reports it, as for the source.
// While someone writes the journal, its end is not torn: the record is still to come.
func (o *origin) unfinished() error {
	info, err := o.journal.Stat()
	if err != nil || info.Size() == o.end {
		return err
	}
	lock, err := acquire(filepath.Join(o.folder, lockName))
	if errors.Is(err, ErrBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	rest, err := io.ReadAll(io.NewSectionReader(o.journal, o.end, maxLine))
	if err := errors.Join(err, lock.release()); err != nil {
		return err
	}
	if bytes.IndexByte(rest, '\n') < 0 && tornLine(rest, false) {
		o.torn = rest
	}
	return nil
}

// write writes the fork's journal into f, and its blobs into the folder.
func (o *origin) write(folder string, w io.Writer) error {
	if err := o.share(folder); err != nil {
		return err
	}
	var enc encoder
	enc.reset()
	if err := enc.header(o.about.Header); err != nil {
		return err
	}
	if _, err := w.Write(enc.buf.Bytes()); err != nil {
		return err
	}
	if _, err := io.Copy(w, io.NewSectionReader(o.journal, o.begin, o.end-o.begin)); err != nil {
		return err
	}
	_, err := w.Write(o.torn)
	return err
}

// share gives the fork the blobs. They are never changed, so that a second name
// for each will do, where the file system has such names.
func (o *origin) share(folder string) error {
	if len(o.blobs) == 0 {
		return nil
	}
	folder = filepath.Join(folder, blobsName)
	if err := makeFolder(folder); err != nil {
		return err
	}
	for _, hash := range o.blobs {
		if safefile.Link(filepath.Join(o.folder, blobsName, hash), filepath.Join(folder, hash)) == nil {
			continue
		}
		data, err := loadBlob(o.folder, hash, maxLine)
		if err == nil {
			err = storeBlob(folder, blob{hash, data})
		}
		if err != nil {
			return fmt.Errorf("copying blob %s: %w", hash, err)
		}
	}
	return safefile.SyncFolder(folder)
}

// compose makes the session that a describes. The file filled by write becomes the journal
// once everything is on the disk, so that the session does not exist before; a failure
// leaves nothing behind.
func (d folderStore) compose(ctx context.Context, a *summary, write func(folder string, w io.Writer) error) (err error) {
	id := a.Header.Session
	folder, err := d.folder(id)
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return err
	}
	made := safefile.Missing(folder)
	lock, err := begin(folder)
	if err != nil {
		if made {
			_ = safefile.Remove(folder) // unless someone else begins the session
		}
		return err
	}
	if err := d.vacant(ctx, id); err != nil { // someone else may have been faster
		return errors.Join(err, lock.release())
	}
	path := filepath.Join(folder, journalName)
	if err := putWhole(lock, path, func(w io.Writer) error { return write(folder, w) }); err != nil {
		return errors.Join(err, undo(folder, made, lock))
	}
	if info, err := safefile.Lstat(path); err == nil {
		a.Size = info.Size()
		_ = a.write(folder) // the journal is the truth
	}
	return lock.release()
}

// begin makes the folder of a session, locks it, and removes the temporary files that a crash
// has left there.
func begin(folder string) (*lock, error) {
	if safefile.Missing(filepath.Join(folder, journalName)) {
		if err := safefile.MakeFolders(filepath.Dir(folder)); err != nil {
			return nil, err
		}
	}
	if err := makeFolder(folder); err != nil {
		return nil, err
	}
	lock, err := acquire(filepath.Join(folder, lockName))
	if errors.Is(err, ErrBusy) {
		return nil, ErrBusy
	}
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", folder, err)
	}
	for _, name := range []string{journalName + partEnd, filepath.Join(blobsName, blobPart), summaryName + partEnd} {
		_ = safefile.Remove(filepath.Join(folder, name)) // else it is overwritten some day
	}
	return lock, nil
}

// vacant fails with [ErrExists] where there is a session named id.
func (d folderStore) vacant(ctx context.Context, id string) error {
	switch _, err := d.Stat(ctx, id); {
	case err == nil:
		return fmt.Errorf("%w: %s", ErrExists, id)
	case errors.Is(err, ErrNotFound):
		return nil
	default:
		return err
	}
}

// putWhole writes a journal aside, and gives it its name when it is on the disk.
func putWhole(lock *lock, path string, write func(io.Writer) error) error {
	r := safefile.Replacement{Temp: journalName + partEnd, Sync: safefile.SyncContent, Ready: lock.held}
	if err := r.Stream(path, write); err != nil {
		return err
	}
	folder := filepath.Dir(path)
	if err := errors.Join(safefile.SyncFolder(folder), safefile.SyncFolder(filepath.Dir(folder))); err != nil {
		return errors.Join(err, safefile.Remove(path))
	}
	return nil
}

// undo removes the files that compose has made, the folder only if compose made it, and
// releases the lock.
func undo(folder string, made bool, lock *lock) error {
	if !made || lock.held() != nil {
		return lock.release()
	}
	err := errors.Join(safefile.RemoveAll(filepath.Join(folder, blobsName)), safefile.RemoveAll(filepath.Join(folder, agentsName)))
	if err := errors.Join(err, removeLock(lock)); err != nil {
		return err
	}
	_ = safefile.Remove(folder) // unless someone begins the session just now
	return nil
}
