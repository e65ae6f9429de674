//go:build !linux && !darwin

package walk

import (
	"io"
	"io/fs"
	"os"
)

// A Folder opens files under a root, in one folder after the other. Nothing leads out of
// the root.
type Folder struct {
	root *os.Root
	path string
	here *os.Root // the current folder; nil if that is root
}

// OpenFolder begins at the root. The Folder must be closed.
func OpenFolder(root *os.Root) (*Folder, error) { return &Folder{root: root}, nil }

// Close closes the folder, not its root.
func (f *Folder) Close() error {
	if f.here == nil {
		return nil
	}
	here := f.here
	f.here, f.path = nil, ""
	return here.Close()
}

func (f *Folder) at() *os.Root {
	if f.here == nil {
		return f.root
	}
	return f.here
}

// Go makes the folder at path, relative to the root, the current one. If that fails, it is
// the root.
func (f *Folder) Go(path string) error {
	if path == f.path {
		return nil
	}
	f.Close()
	if path == "" {
		return nil
	}
	here, err := f.root.OpenRoot(path)
	if err == nil {
		f.here, f.path = here, path
	}
	return err
}

// Open opens a regular file of the current folder for reading. It does not wait for the
// writer of a pipe that has taken the file's place. The file must be closed before the next
// is opened.
func (f *Folder) Open(name string) (io.ReadCloser, error) {
	return openFile(f.at(), name)
}

// lstat describes a name in the current folder.
func (f *Folder) lstat(name string) (facts, error) {
	info, err := f.at().Lstat(name)
	if err != nil {
		return facts{}, err
	}
	return facts{mode: info.Mode().Type(), size: info.Size(), modTime: info.ModTime()}, nil
}

// each calls yield for each entry of the current folder with its name, valid only until
// yield returns, and its type, until yield returns an error.
func (f *Folder) each(yield func(name []byte, kind fs.FileMode) error) error {
	dir, err := f.at().Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		list, err := dir.ReadDir(atOnce)
		for _, e := range list {
			if err := yield([]byte(e.Name()), e.Type()); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// openFile opens a regular file for reading. It does not wait for the writer of a
// pipe that has taken the file's place.
func openFile(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errNotFile}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
