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

// A Memory is a workspace whose files are in memory: for tests, and for agents that work on
// texts of a database. It has no programs, so the tools for commands are left out. The zero
// value is an empty folder. Its fields must not change after the first use; it is safe for
// concurrent use.
//
//	ws := &workspace.Memory{}
//	ws.WriteFile(ctx, "", "notes.md", []byte("…"))
//	a := &agent.Agent{Model: m, Tools: tools.Core(ws), Dir: "/"}
type Memory struct {
	Root string   // working directory, absolute; "" is "/"
	Dirs []string // further folders that tools may use
	// OutputDir is the folder on this machine for long outputs. Tools may read it. "" is
	// the user's folder in [os.TempDir].
	OutputDir string

	once sync.Once
	far  far
	disk memoryDisk
}

func (m *Memory) place() *far {
	m.once.Do(func() {
		root := path.Clean(cmp.Or(m.Root, "/"))
		m.disk.top = &memoryNode{mode: fs.ModeDir | 0o755, modTime: time.Now(), entries: map[string]*memoryNode{}}
		m.far.disk, m.far.root, m.far.dirs, m.far.here = &m.disk, root, m.Dirs, &Workspace{OutputDir: m.OutputDir}
		for _, dir := range append([]string{root}, m.Dirs...) {
			if !path.IsAbs(dir) {
				dir = path.Join(root, dir)
			}
			m.disk.makeFolder(dir)
		}
	})
	return &m.far
}

// Roots returns the folders that tools may use, the working directory first.
func (m *Memory) Roots() ([]string, error) {
	roots, err := m.place().roots(context.Background())
	return slices.Clone(roots), err
}

// Resolve is [Workspace.Resolve].
func (m *Memory) Resolve(dir, name string) (string, error) {
	return m.place().resolve(context.Background(), dir, name)
}

// Open is [Workspace.Open].
func (m *Memory) Open(ctx context.Context, dir, name string) (fs.File, error) {
	return m.place().openFile(ctx, dir, name)
}

// OpenFolder is [Workspace.OpenFolder]. The Folder is an [fs.FS] with all files, by which
// your program takes them out.
func (m *Memory) OpenFolder(ctx context.Context, dir, name string) (Folder, string, error) {
	return m.place().openFolder(ctx, dir, name)
}

// Update is [Workspace.Update].
func (m *Memory) Update(ctx context.Context, dir, name string, change func(old []byte) ([]byte, error)) error {
	return m.place().updateOne(ctx, dir, name, change)
}

// WriteFile makes data the content of the file at name, as Update does.
func (m *Memory) WriteFile(ctx context.Context, dir, name string, data []byte) error {
	return m.Update(ctx, dir, name, func([]byte) ([]byte, error) { return data, nil })
}

// UpdateAll is [Workspace.UpdateAll].
func (m *Memory) UpdateAll(ctx context.Context, dir string, names []string, change func(old [][]byte) ([]Content, error)) error {
	return m.place().update(ctx, dir, names, change)
}

// Symlink makes name a symlink to target, which is absolute or relative to the folder of
// name.
func (m *Memory) Symlink(target, name string) error {
	w := m.place()
	abs, err := w.absolute(context.Background(), "", name)
	if err != nil {
		return err
	}
	dir, err := followFar(context.Background(), w.disk, path.Dir(abs))
	if err != nil {
		return err
	}
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	parent, err := m.disk.makeFolder(dir)
	if err != nil {
		return fmt.Errorf("linking %s: %w", abs, err)
	}
	if parent.entries[path.Base(abs)] != nil {
		return fmt.Errorf("linking %s: %w", abs, fs.ErrExist)
	}
	parent.entries[path.Base(abs)] = &memoryNode{mode: fs.ModeSymlink | 0o777, target: target, modTime: time.Now()}
	return nil
}

// A memoryDisk holds the files of a Memory.
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
