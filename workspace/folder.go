package workspace

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// A Folder is an open folder with everything below it. Names are relative to it, with
// slashes, as [fs.ValidPath] has them. Open returns an [fs.ReadDirFile] for a folder, and
// waits for no pipe. Nothing leads out of the folder, not even a symlink.
//
// Searches are faster in a folder far away that reads many names with one request. It has
// these methods too:
//
//	// ReadDirs lists folders. It calls yield once for each name, in order; err says why a
//	// folder cannot be read. An error of ReadDirs itself ends the search.
//	ReadDirs(ctx context.Context, names []string, yield func(i int, list []fs.DirEntry, err error)) error
//	// ReadFiles reads regular files. It calls yield once for each name, in order, until
//	// yield returns an error, which ReadFiles returns. r is nil where err says why a file
//	// cannot be read, and ends with the call of yield.
//	ReadFiles(ctx context.Context, names []string, yield func(i int, r io.Reader, err error) error) error
type Folder interface {
	fs.ReadLinkFS
	io.Closer
}

// OpenFolder opens the folder at name, see [Workspace.Resolve], and returns its resolved
// path too. A folder elsewhere works until ctx ends.
func (w *Workspace) OpenFolder(ctx context.Context, dir, name string) (Folder, string, error) {
	if far := w.elsewhere(); far != nil {
		return far.openFolder(ctx, dir, name)
	}
	root, path, err := w.openRoot(dir, name)
	if err != nil {
		return nil, "", err
	}
	return &localFolder{root: root}, path, nil
}

// localFolder is a [walk.Rooted] folder on a disk of this machine.
type localFolder struct{ root *os.Root }

func (f *localFolder) Root() *os.Root { return f.root }

func (f *localFolder) Close() error { return f.root.Close() }

func (f *localFolder) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	file, err := openPlain(f.root, place{path: name, rel: name})
	if err != nil {
		return nil, err // not a nil *os.File
	}
	return file, nil
}

func (f *localFolder) Lstat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrInvalid}
	}
	return f.root.Lstat(name)
}

func (f *localFolder) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	return f.root.Stat(name)
}

func (f *localFolder) ReadLink(name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	to, err := f.root.Readlink(name)
	if err != nil {
		return "", fmt.Errorf("reading the link: %w", err)
	}
	return to, nil
}
