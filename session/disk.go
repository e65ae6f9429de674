package session

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/openagent-go/agent/internal/safefile"
)

// A disk is the part of the file system whose failures a store must survive.
type disk interface {
	// open opens a regular file, never through a link, and makes it private when
	// it is opened for writing.
	open(name string, flag int) (file, error)
	rename(from, to string) error
	// link gives a file a second name; it fails where there is such a file.
	link(from, to string) error
	// syncFolder brings the entries of a folder to the disk.
	syncFolder(name string) error
}

// A file is a file on a [disk].
type file interface {
	io.ReaderAt
	io.WriteCloser
	Stat() (fs.FileInfo, error)
	Sync() error
	Truncate(size int64) error
}

// system is the disk of this machine.
type system struct{}

func (system) open(name string, flag int) (file, error) {
	f, err := safefile.Open(name, flag)
	if err != nil {
		return nil, err // not a nil *os.File in a file
	}
	return f, nil
}

func (system) rename(from, to string) error { return os.Rename(from, to) }

func (system) link(from, to string) error { return os.Link(from, to) }

func (system) syncFolder(name string) error { return safefile.SyncFolder(name) }

// replacer is a [disk] for [safefile.Replacement].
type replacer struct{ disk }

func (r replacer) Create(name string, _ fs.FileMode) (safefile.File, error) {
	return r.open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
}

func (r replacer) Rename(from, to string) error { return r.rename(from, to) }

func (r replacer) SyncFolder(name string) error { return r.syncFolder(name) }

// makeFolders makes path and its missing parents, for the owner alone. Existing folders are
// left as they are.
func makeFolders(d disk, path string) error {
	if info, err := os.Stat(path); err == nil {
		if !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
		}
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := filepath.Dir(path)
	if err := makeFolders(d, above); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.Chmod(path, 0o700); err != nil { // the umask may have taken too much
		return err
	}
	return d.syncFolder(above)
}

// makeFolder makes a folder inside of one that is there. One that exists is
// made private and must not be a link.
func makeFolder(d disk, path string) error {
	made := os.Mkdir(path, 0o700)
	if made != nil && !errors.Is(made, fs.ErrExist) {
		return made
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
	case runtime.GOOS != "windows" && info.Mode().Perm() != 0o700:
		if err := os.Chmod(path, 0o700); err != nil {
			return err
		}
	}
	if made == nil {
		return d.syncFolder(filepath.Dir(path))
	}
	return nil
}
