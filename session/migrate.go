package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/safefile"
)

// A migration turns the type and data of a record into those of the version
// after. The frame of a line is the same in all versions.
type migration func(r *record) error

// migrations holds the way from each older version that can be read to the next
// one. Version 1 is the first that was released.
var migrations = map[int]migration{}

// migrate turns a record of an older version into one of this version.
func (r *record) migrate(from int) error {
	for v := from; v < version; v++ {
		if err := migrations[v](r); err != nil {
			return fmt.Errorf("bringing it from version %d to %d: %w", v, v+1, err)
		}
	}
	return nil
}

// readable reports whether there is a way from an older version to this one.
func readable(from int) bool {
	for v := from; v < version; v++ {
		if migrations[v] == nil {
			return false
		}
	}
	return true
}

// rewrite puts a journal of the given header and facts in the place of the one
// in folder, which is kept under the name keep. Whenever it is broken off the one
// or the other journal is there, whole. The caller holds the session's lock.
func rewrite(folder string, header Header, keep string, facts iter.Seq2[event.Event, error]) error {
	path := filepath.Join(folder, journalName)
	ready := func() error {
		if err := putAside(path, filepath.Join(folder, keep)); err != nil {
			return err
		}
		if err := safefile.Remove(filepath.Join(folder, summaryName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return safefile.Replacement{Temp: journalName + partEnd, Ready: ready}.Stream(path, func(w io.Writer) error {
		return writeAll(folder, w, header, facts)
	})
}

// writeAll writes a journal, the blobs of which go to the folder.
func writeAll(folder string, w io.Writer, header Header, facts iter.Seq2[event.Event, error]) error {
	var enc encoder
	enc.reset()
	flush := func() error {
		if len(enc.blobs) > 0 {
			if err := storeBlobs(folder, enc.blobs); err != nil {
				return err
			}
		}
		_, err := w.Write(enc.buf.Bytes())
		enc.reset()
		return err
	}
	if err := enc.header(header); err != nil {
		return err
	}
	for e, err := range facts {
		if err == nil {
			err = enc.fact(e)
		}
		if err == nil && (enc.buf.Len() > 1<<20 || len(enc.blobs) > 0) {
			err = flush()
		}
		if err != nil {
			return err
		}
	}
	return flush()
}

// putAside gives the file at path a second name, or where the file system has
// only one for each file, makes a copy. An older file of that name stays.
func putAside(path, name string) error {
	switch err := safefile.Link(path, name); {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return err
	}
	from, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	to, err := safefile.Open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	if _, err = io.Copy(to, io.NewSectionReader(from, 0, info.Size())); err == nil {
		err = to.Sync()
	}
	return errors.Join(err, to.Close())
}

// upgrade rewrites the journal, which is of an older version, and opens it again.
// The old one is kept under its version.
func (l *journal) upgrade(header Header, from int) error {
	if err := l.file.Close(); err != nil {
		return err
	}
	d := folderStore{Path: filepath.Dir(l.folder)}
	keep := fmt.Sprintf("%s.v%d", journalName, from)
	if err := safefile.Remove(filepath.Join(l.folder, keep)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // left by an upgrade that was broken off
	}
	if err := rewrite(l.folder, l.about.Header, keep, d.Read(context.Background(), l.id, 0)); err != nil {
		return fmt.Errorf("bringing %s to version %d: %w", l.path, version, err)
	}
	return l.open(header)
}
