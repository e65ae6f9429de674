//go:build linux || darwin

package walk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// maxHeld is how many folders on the way to the current one are held open.
const maxHeld = 16

// A Folder opens files under a root, in one folder after the other. It is lighter than
// [os.Root] because folders on the way to the current one stay open. No symlink is
// followed, so nothing leads out of the root.
type Folder struct {
	root *os.File
	base int    // the descriptor of root
	way  []step // from the root to the current folder
	file file
	list entries
}

// A step is a folder held open, or, if fd is negative, no longer.
type step struct {
	name string
	fd   int
}

// OpenFolder begins at the root. The Folder must be closed.
func OpenFolder(root *os.Root) (*Folder, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	return &Folder{root: f, base: int(f.Fd())}, nil
}

// Close closes the folder and those on the way to it, not their root.
func (f *Folder) Close() error {
	f.back(0)
	return f.root.Close()
}

// back closes all but the first n steps of the way.
func (f *Folder) back(n int) {
	for _, s := range f.way[n:] {
		if s.fd >= 0 {
			unix.Close(s.fd)
		}
	}
	f.way = f.way[:n]
}

func (f *Folder) fd() int {
	if n := len(f.way); n > 0 {
		return f.way[n-1].fd
	}
	return f.base
}

// Go makes the folder at path, relative to the root, the current one. If that fails, the
// current one is some folder on the way to it.
func (f *Folder) Go(path string) error {
	rest := path
	shared := 0
	for shared < len(f.way) && rest != "" {
		name, after, _ := strings.Cut(rest, "/")
		if name != f.way[shared].name {
			break
		}
		shared++
		rest = after
	}
	for shared > 0 && f.way[shared-1].fd < 0 {
		shared--
	}
	f.back(shared)
	rest = path
	for range shared {
		_, rest, _ = strings.Cut(rest, "/")
	}
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		if err := f.enter(name); err != nil {
			return &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
	return nil
}

// enter goes one step down.
func (f *Folder) enter(name string) error {
	if name == "." || name == ".." {
		return errors.New("not the name of a folder")
	}
	fd, err := openat(f.fd(), name, unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	if n := len(f.way); n > maxHeld {
		unix.Close(f.way[n-1].fd)
		f.way[n-1].fd = -1
	}
	f.way = append(f.way, step{name, fd})
	return nil
}

func openat(dir int, name string, flags int) (fd int, err error) {
	err = retry(func() error {
		fd, err = unix.Openat(dir, name, flags|unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		return err
	})
	return fd, err
}

// retry calls do until no signal interrupts it.
func retry(do func() error) error {
	for {
		if err := do(); err != unix.EINTR {
			return err
		}
	}
}

// Open opens a regular file of the current folder for reading. It does not wait for the
// writer of a pipe that has taken the file's place. The file must be closed before the next
// is opened.
func (f *Folder) Open(name string) (io.ReadCloser, error) {
	fail := func(err error) (io.ReadCloser, error) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	if strings.Contains(name, "/") || name == ".." {
		return fail(errNotFile)
	}
	fd, err := openat(f.fd(), name, 0)
	if err != nil {
		return fail(err)
	}
	var st unix.Stat_t
	if err = retry(func() error { return unix.Fstat(fd, &st) }); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errNotFile
	}
	if err != nil {
		unix.Close(fd)
		return fail(err)
	}
	f.file = file{fd: fd, left: st.Size}
	return &f.file, nil
}

// A file is open for reading.
type file struct {
	fd   int
	left int64 // until the size that it was opened with
}

// Read reads. A file that says how large it is ends there, which saves asking
// once more.
func (f *file) Read(p []byte) (n int, err error) {
	err = retry(func() error {
		n, err = unix.Read(f.fd, p)
		return err
	})
	switch {
	case err != nil:
		return 0, fmt.Errorf("reading the file: %w", err)
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	if f.left -= int64(n); f.left == 0 {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) Close() error { return unix.Close(f.fd) }

// lstat describes a name in the current folder.
func (f *Folder) lstat(name string) (facts, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstatat(f.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return facts{}, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	return facts{mode: fileType(uint32(st.Mode)), size: st.Size, modTime: time.Unix(st.Mtim.Unix())}, nil
}

func fileType(mode uint32) fs.FileMode {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	}
	return fs.ModeIrregular
}
