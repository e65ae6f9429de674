package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// newMemory returns the place that holds the files of w in memory.
func newMemory(w *Workspace) *far {
	root := path.Clean(cmp.Or(w.Root, "/"))
	disk := &memoryDisk{top: &memoryNode{mode: fs.ModeDir | 0o755, modTime: time.Now(), entries: map[string]*memoryNode{}}}
	for _, dir := range append([]string{root}, w.Dirs...) {
		if !path.IsAbs(dir) {
			dir = path.Join(root, dir)
		}
		disk.makeFolder(dir)
	}
	return &far{disk: disk, root: root, dirs: w.Dirs, here: &Workspace{OutputDir: w.OutputDir}}
}

// A memoryDisk holds the files of a workspace in memory.
type memoryDisk struct {
	mu  sync.Mutex // guards all that follows, and the entries of all nodes
	top *memoryNode
}

// A memoryNode is a file, a folder or a symlink. All but entries is fixed.
type memoryNode struct {
	mode    fs.FileMode
	modTime time.Time
	data    []byte
	target  string
	entries map[string]*memoryNode
}

func (n *memoryNode) info(name string) *farInfo {
	return &farInfo{name: name, mode: n.mode, size: int64(len(n.data)), modTime: n.modTime, target: n.target}
}

// node returns what is at a path, nil if there is nothing.
func (d *memoryDisk) node(p string) *memoryNode {
	n := d.top
	for _, name := range names(p) {
		if n == nil {
			return nil
		}
		n = n.entries[name]
	}
	return n
}

var errNoFolder = errors.New("not a directory")

// makeFolder returns the folder at p, which it makes if need be.
func (d *memoryDisk) makeFolder(p string) (*memoryNode, error) {
	n := d.top
	for _, name := range names(p) {
		if n.entries == nil {
			return nil, errNoFolder
		}
		next := n.entries[name]
		if next == nil {
			next = &memoryNode{mode: fs.ModeDir | 0o755, modTime: time.Now(), entries: map[string]*memoryNode{}}
			n.entries[name] = next
		}
		n = next
	}
	if n.entries == nil {
		return nil, errNoFolder
	}
	return n, nil
}

func (d *memoryDisk) home(context.Context) (string, error) {
	return "", errors.New("this workspace has no home folder")
}

func (d *memoryDisk) look(_ context.Context, paths []string) ([]*farInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := make([]*farInfo, len(paths))
	for i, p := range paths {
		if n := d.node(p); n != nil {
			found[i] = n.info(path.Base(p))
		}
	}
	return found, nil
}

func (d *memoryDisk) open(_ context.Context, at farPlace) (fs.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.node(at.path)
	switch {
	case n == nil:
		return nil, &fs.PathError{Op: "open", Path: at.path, Err: fs.ErrNotExist}
	case n.mode.IsRegular():
		return &farFile{info: n.info(path.Base(at.path)), content: bytes.NewReader(n.data)}, nil
	case !n.mode.IsDir():
		return nil, &fs.PathError{Op: "open", Path: at.path, Err: plain(n.info(""))}
	}
	f := &farFile{info: n.info(path.Base(at.path))}
	for name, e := range n.entries {
		f.entries = append(f.entries, e.info(name))
	}
	slices.SortFunc(f.entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return f, nil
}

func (d *memoryDisk) folder(ctx context.Context, p string) (Folder, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch n := d.node(p); {
	case n == nil:
		return nil, fs.ErrNotExist
	case !n.mode.IsDir():
		return nil, errNoFolder
	}
	return &farFolder{ctx: ctx, disk: d, path: p}, nil
}

// commit checks all changes before it makes the first: then nothing can fail.
func (d *memoryDisk) commit(_ context.Context, changes []farChange) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range changes {
		n := d.node(c.path)
		if (n == nil) != (c.old == nil) || n != nil && (!n.mode.IsRegular() || !bytes.Equal(n.data, c.old)) {
			return fmt.Errorf("writing %s: %w", c.path, ErrChanged)
		}
		if err := d.fits(c.path, changes); err != nil {
			return fmt.Errorf("writing %s: %w", c.path, err)
		}
	}
	modes := make([]fs.FileMode, len(changes))
	for i, c := range changes {
		modes[i] = 0o644
		if n := d.node(cmp.Or(c.like, c.path)); n != nil {
			modes[i] = n.mode
		}
	}
	for i, c := range changes {
		parent, err := d.makeFolder(path.Dir(c.path))
		switch {
		case err != nil:
			return fmt.Errorf("writing %s: %w", c.path, err)
		case c.remove:
			delete(parent.entries, path.Base(c.path))
		default:
			parent.entries[path.Base(c.path)] = &memoryNode{mode: modes[i], modTime: time.Now(), data: bytes.Clone(c.data)}
		}
	}
	return nil
}

// fits reports why there can be no file at p: one of its folders is a file, now or after the
// changes.
func (d *memoryDisk) fits(p string, changes []farChange) error {
	for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
		if n := d.node(dir); n != nil && !n.mode.IsDir() {
			return fmt.Errorf("%s is a file, not a folder", dir)
		}
		if slices.ContainsFunc(changes, func(c farChange) bool { return c.path == dir }) {
			return fmt.Errorf("%s is a file, not a folder", dir)
		}
	}
	return nil
}
