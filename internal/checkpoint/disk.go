package checkpoint

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/openagent-go/agent/internal/safefile"
)

// A disk is the part of the file system that a store writes with and whose failures it must
// survive.
type disk interface {
	// open opens a regular file for writing, never through a link.
	open(path string, flag int) (io.WriteCloser, error)
	rename(from, to string) error
	remove(path string) error
}

// system is the disk of this machine.
type system struct{}

func (system) open(path string, flag int) (io.WriteCloser, error) {
	f, err := safefile.Open(path, os.O_WRONLY|flag)
	if err != nil {
		return nil, err // not a nil *os.File
	}
	return f, nil
}

func (system) rename(from, to string) error { return safefile.Rename(from, to) }

func (system) remove(path string) error { return safefile.Remove(path) }

func (s *Store) writer() disk {
	if s.disk == nil {
		return system{}
	}
	return s.disk
}

func (s *Store) path(parts ...string) string {
	return filepath.Join(append([]string{s.Dir}, parts...)...)
}

// absent reports whether nothing was ever stored.
func (s *Store) absent() bool {
	_, err := safefile.Lstat(s.Dir)
	return errors.Is(err, fs.ErrNotExist)
}

// makeFolder makes a folder of the store and those above it. The store's own
// folder keeps its mode if it is there.
func (s *Store) makeFolder(parts ...string) error { return safefile.MkdirAll(s.path(parts...), 0o700) }

// save replaces a file atomically; on failure the old file stays.
func (s *Store) save(data []byte, parts ...string) error {
	w, err := s.begin()
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return errors.Join(err, w.abort())
	}
	return w.commit(parts...)
}

// A stagedFile is a file of the store without its final name.
type stagedFile struct {
	io.WriteCloser
	store *Store
	name  string
}

// begin opens a new file, which must be committed or aborted.
func (s *Store) begin() (*stagedFile, error) {
	name := s.path("tmp", random(16))
	w, err := s.writer().open(name, os.O_CREATE|os.O_EXCL)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.makeFolder("tmp"); err != nil {
			return nil, err
		}
		w, err = s.writer().open(name, os.O_CREATE|os.O_EXCL)
	}
	if err != nil {
		return nil, err
	}
	return &stagedFile{w, s, name}, nil
}

func (w *stagedFile) abort() error {
	return errors.Join(w.Close(), w.store.writer().remove(w.name))
}

// commit gives the file its name.
func (w *stagedFile) commit(parts ...string) error {
	if err := w.Close(); err != nil {
		return errors.Join(err, w.store.writer().remove(w.name))
	}
	to := w.store.path(parts...)
	err := w.store.writer().rename(w.name, to)
	if errors.Is(err, fs.ErrNotExist) {
		if err = w.store.makeFolder(parts[:len(parts)-1]...); err == nil {
			err = w.store.writer().rename(w.name, to)
		}
	}
	if err != nil {
		return errors.Join(err, w.store.writer().remove(w.name))
	}
	return nil
}

// read returns a file of the store of at most limit bytes.
func (s *Store) read(limit int64, parts ...string) ([]byte, error) {
	f, err := safefile.Open(s.path(parts...), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = syscall.EFBIG
	}
	return data, err
}
