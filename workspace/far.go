package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// A disk is a file system that is on no disk of this machine. Its paths are absolute and
// have slashes.
type disk interface {
	// look describes paths without following them. An entry is nil for a path that is
	// missing.
	look(ctx context.Context, paths []string) ([]*farInfo, error)
	// open opens a file or folder whose path has no symlinks.
	open(ctx context.Context, at farPlace) (fs.File, error)
	// folder opens a folder whose path has no symlinks.
	folder(ctx context.Context, path string) (Folder, error)
	// commit makes all changes, or none. A file that is not as it was read is [ErrChanged].
	commit(ctx context.Context, changes []farChange) error
	// home is the folder that "~" stands for.
	home(ctx context.Context) (string, error)
}

// A farPlace is a path split at the root that it lies in.
type farPlace struct{ path, root, rel string }

// A farChange is a change of one file.
type farChange struct {
	farPlace
	old    []byte // nil: there is no file
	data   []byte
	remove bool
	like   string // path of the file whose mode a new file takes, "" for none
}

// farInfo describes a file. It is also the entry of a folder.
type farInfo struct {
	name    string
	mode    fs.FileMode
	size    int64
	modTime time.Time
	target  string // of a symlink
}

func (i *farInfo) Name() string               { return i.name }
func (i *farInfo) Size() int64                { return i.size }
func (i *farInfo) Mode() fs.FileMode          { return i.mode }
func (i *farInfo) Type() fs.FileMode          { return i.mode.Type() }
func (i *farInfo) ModTime() time.Time         { return i.modTime }
func (i *farInfo) IsDir() bool                { return i.mode.IsDir() }
func (i *farInfo) Sys() any                   { return nil }
func (i *farInfo) Info() (fs.FileInfo, error) { return i, nil }

// far is a workspace on a disk that is elsewhere.
type far struct {
	disk
	root  string     // absolute
	dirs  []string   // absolute, or relative to root
	here  *Workspace // the folder for long outputs, and the shells
	locks locks
	// patience bounds the questions that come without a context; 0 is for ever.
	patience time.Duration

	mu   sync.Mutex
	real []string // root and dirs without symlinks, once they are known
}

// roots returns the folders that tools may use. They are resolved once: a root that is
// swapped for a symlink later leads nowhere else.
func (w *far) roots(ctx context.Context) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.real != nil {
		return w.real, nil
	}
	if !path.IsAbs(w.root) {
		return nil, fmt.Errorf("finding the folders of the workspace: Root %q is not absolute", w.root)
	}
	var real []string
	for _, d := range append([]string{w.root}, w.dirs...) {
		if !path.IsAbs(d) {
			d = path.Join(w.root, d)
		}
		d, err := followFar(ctx, w.disk, path.Clean(d))
		if err != nil {
			return nil, fmt.Errorf("finding the folders of the workspace: %w", err)
		}
		real = append(real, d)
	}
	w.real = real
	return real, nil
}

// absolute makes name absolute and clean; symlinks stay.
func (w *far) absolute(ctx context.Context, dir, name string) (string, error) {
	switch {
	case name == "":
		return "", errors.New("the path is empty")
	case strings.ContainsRune(name, 0) || strings.ContainsRune(dir, 0):
		return "", errors.New("the path holds a NUL byte")
	}
	if rest, ok := strings.CutPrefix(name, "~"); ok && (rest == "" || rest[0] == '/') {
		home, err := w.home(ctx)
		if err != nil {
			return "", fmt.Errorf("expanding ~: %w", err)
		}
		return path.Join(home, rest), nil
	}
	if path.IsAbs(name) {
		return path.Clean(name), nil
	}
	if !path.IsAbs(dir) {
		roots, err := w.roots(ctx)
		if err != nil {
			return "", err
		}
		dir = path.Join(roots[0], dir)
	}
	return path.Join(dir, name), nil
}

// locate resolves name to a place in one of the roots.
func (w *far) locate(ctx context.Context, dir, name string) (farPlace, error) {
	roots, err := w.roots(ctx)
	if err != nil {
		return farPlace{}, err
	}
	abs, err := w.absolute(ctx, dir, name)
	if err != nil {
		return farPlace{}, err
	}
	real, err := followFar(ctx, w.disk, abs)
	if err != nil {
		return farPlace{}, err
	}
	var best farPlace
	for _, r := range roots {
		if rel, ok := belowFar(real, r); ok && (best.root == "" || len(r) < len(best.root)) {
			best = farPlace{path: real, root: r, rel: rel}
		}
	}
	if best.root == "" {
		return farPlace{}, fmt.Errorf("%s %w: %s", real, ErrOutside, strings.Join(roots, ", "))
	}
	return best, nil
}

// belowFar returns path relative to root if it lies in it, "." for root itself.
func belowFar(p, root string) (string, bool) {
	if p == root {
		return ".", true
	}
	return strings.CutPrefix(p, strings.TrimSuffix(root, "/")+"/")
}

// output returns the workspace of this machine's folder for long outputs, if name is in it.
// Tools of any workspace tell the model to read there.
func (w *far) output(name string) (*Workspace, bool) {
	dir, err := w.here.outputDir()
	if err != nil {
		return nil, false
	}
	real, err := w.here.absolute(dir, name)
	if err == nil {
		real, err = follow(real)
	}
	if err != nil {
		return nil, false
	}
	_, in := below(real, dir)
	return &Workspace{Root: dir}, in
}

func (w *far) resolve(dir, name string) (string, error) {
	ctx := context.Background()
	if w.patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.patience)
		defer cancel()
	}
	if path.IsAbs(name) {
		if here, ok := w.output(name); ok {
			return here.Resolve("", name)
		}
	}
	p, err := w.locate(ctx, dir, name)
	return p.path, err
}

func (w *far) openFile(ctx context.Context, dir, name string) (fs.File, error) {
	if path.IsAbs(name) {
		if here, ok := w.output(name); ok {
			return here.Open(ctx, "", name)
		}
	}
	p, err := w.locate(ctx, dir, name)
	if err != nil {
		return nil, err
	}
	f, err := w.open(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", p.path, bare(err))
	}
	return f, nil
}

func (w *far) openFolder(ctx context.Context, dir, name string) (Folder, string, error) {
	if path.IsAbs(name) {
		if here, ok := w.output(name); ok {
			return here.OpenFolder(ctx, "", name)
		}
	}
	p, err := w.locate(ctx, dir, name)
	if err != nil {
		return nil, "", err
	}
	f, err := w.folder(ctx, p.path)
	if err != nil {
		return nil, "", fmt.Errorf("opening %s: %w", p.path, bare(err))
	}
	return f, p.path, nil
}

// update is [Workspace.UpdateAll].
func (w *far) update(ctx context.Context, dir string, names []string, change func(old [][]byte) ([]Content, error)) error {
	changes := make([]farChange, len(names))
	paths := make([]string, len(names))
	for i, name := range names {
		p, err := w.locate(ctx, dir, name)
		if err != nil {
			return err
		}
		if slices.Contains(paths[:i], p.path) {
			return fmt.Errorf("%s is named twice", p.path)
		}
		changes[i].farPlace, paths[i] = p, p.path
	}
	for _, p := range slices.Sorted(slices.Values(paths)) { // always in this order, so that nobody waits for each other
		defer w.locks.lock(p)()
	}
	old := make([][]byte, len(changes))
	total := 0
	for i := range changes {
		var err error
		if old[i], err = w.load(ctx, changes[i].farPlace); err != nil {
			return err
		}
		if total += len(old[i]); total > maxTotal {
			return fmt.Errorf("the files are together too large to change: more than %d MB", maxTotal>>20)
		}
		changes[i].old = old[i]
	}
	contents, err := change(old)
	if err != nil {
		return err
	}
	if len(contents) != len(names) {
		return fmt.Errorf("changing %d files: %d contents were given", len(names), len(contents))
	}
	for i, c := range contents {
		f := &changes[i]
		f.data, f.remove = c.Data, c.Remove
		if f.old == nil && c.Like != "" {
			j := slices.Index(names, c.Like)
			if j < 0 {
				return fmt.Errorf("writing %s: its Like names %s, which is not one of the files", f.path, c.Like)
			}
			f.like = changes[j].path
		}
	}
	changes = slices.DeleteFunc(changes, func(f farChange) bool {
		return (f.old == nil) == f.remove && (f.remove || string(f.old) == string(f.data))
	})
	if len(changes) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("writing %s: %w", changes[0].path, err)
	}
	return w.commit(ctx, changes)
}

// load reads a file that is to be changed; nil if there is none.
func (w *far) load(ctx context.Context, at farPlace) ([]byte, error) {
	f, err := w.open(ctx, at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", at.path, bare(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", at.path, bare(err))
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a folder, not a file", at.path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", at.path, bare(err))
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s is too large to change: more than %d MB", at.path, maxFile>>20)
	}
	if data == nil {
		data = []byte{}
	}
	return data, nil
}

// updateOne is [Workspace.Update].
func (w *far) updateOne(ctx context.Context, dir, name string, change func(old []byte) ([]byte, error)) error {
	return w.update(ctx, dir, []string{name}, func(old [][]byte) ([]Content, error) {
		data, err := change(old[0])
		if data == nil {
			data = []byte{}
		}
		return []Content{{Data: data}}, err
	})
}

// followFar resolves the symlinks in the longest existing prefix of p, which is absolute and
// clean. It asks the disk once if there are none.
func followFar(ctx context.Context, d disk, p string) (string, error) {
	done, rest := "/", names(p)
	for links := 0; len(rest) > 0; {
		if rest[0] == ".." { // from a link's target: done has no symlinks, so this is its parent
			done, rest = path.Dir(done), rest[1:]
			continue
		}
		var run []string
		for at := done; len(run) < len(rest) && rest[len(run)] != ".."; {
			at = path.Join(at, rest[len(run)])
			run = append(run, at)
		}
		found, err := d.look(ctx, run)
		if err != nil {
			return "", fmt.Errorf("resolving %s: %w", p, bare(err))
		}
		linked := false
		for i, info := range found {
			if info == nil {
				return path.Join(append([]string{run[i]}, rest[1:]...)...), nil
			}
			rest = rest[1:]
			if info.mode.Type() != fs.ModeSymlink {
				done = run[i]
				continue
			}
			if links++; links > maxLinks {
				return "", fmt.Errorf("resolving %s: too many symlinks", p)
			}
			if path.IsAbs(info.target) {
				done = "/"
			}
			rest = append(names(info.target), rest...)
			linked = true
			break
		}
		if !linked && len(found) != len(run) {
			return "", fmt.Errorf("resolving %s: %w", p, errGarbage)
		}
	}
	return done, nil
}

// names splits a path. "." is no name.
func names(p string) []string {
	return slices.DeleteFunc(strings.Split(p, "/"), func(s string) bool { return s == "" || s == "." })
}

// errGarbage is the error for answers of a place that make no sense.
var errGarbage = errors.New("the place answered with something else than was asked for: check that its Exec passes the streams through unchanged")

// A farFolder is an open folder of a disk.
type farFolder struct {
	ctx  context.Context // of the call that opened it: [fs.FS] has none
	disk disk
	path string
}

func (f *farFolder) Close() error { return nil }

// at returns the path of name, with its folders resolved.
func (f *farFolder) at(op, name string) (string, error) {
	if !fs.ValidPath(name) || strings.ContainsRune(name, 0) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	if name == "." {
		return f.path, nil
	}
	dir, base := path.Split(name)
	real, err := f.follow(op, path.Join(f.path, dir))
	return path.Join(real, base), err
}

// follow resolves a path and refuses those that lead out of the folder.
func (f *farFolder) follow(op, p string) (string, error) {
	if p == f.path {
		return p, nil
	}
	real, err := followFar(f.ctx, f.disk, p)
	if err != nil {
		return "", err
	}
	if _, ok := belowFar(real, f.path); !ok {
		return "", &fs.PathError{Op: op, Path: p, Err: errors.New("it leads out of the folder")}
	}
	return real, nil
}

func (f *farFolder) Open(name string) (fs.File, error) {
	p, err := f.at("open", name)
	if err == nil {
		p, err = f.follow("open", p)
	}
	if err != nil {
		return nil, err
	}
	rel, _ := belowFar(p, f.path)
	return f.disk.open(f.ctx, farPlace{path: p, root: f.path, rel: rel})
}

func (f *farFolder) Lstat(name string) (fs.FileInfo, error) {
	p, err := f.at("lstat", name)
	if err != nil {
		return nil, err
	}
	return f.info("lstat", p)
}

func (f *farFolder) Stat(name string) (fs.FileInfo, error) {
	p, err := f.at("stat", name)
	if err == nil {
		p, err = f.follow("stat", p)
	}
	if err != nil {
		return nil, err
	}
	return f.info("stat", p)
}

func (f *farFolder) info(op, p string) (*farInfo, error) {
	found, err := f.disk.look(f.ctx, []string{p})
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: p, Err: err}
	}
	if found[0] == nil {
		return nil, &fs.PathError{Op: op, Path: p, Err: fs.ErrNotExist}
	}
	return found[0], nil
}

func (f *farFolder) ReadLink(name string) (string, error) {
	p, err := f.at("readlink", name)
	if err != nil {
		return "", err
	}
	info, err := f.info("readlink", p)
	if err != nil {
		return "", err
	}
	if info.mode.Type() != fs.ModeSymlink {
		return "", &fs.PathError{Op: "readlink", Path: p, Err: fs.ErrInvalid}
	}
	return info.target, nil
}

// A farFile is an open file, or a folder with its entries.
type farFile struct {
	info    *farInfo
	content io.Reader // nil for a folder
	entries []fs.DirEntry
	close   func() error
}

func (f *farFile) Stat() (fs.FileInfo, error) { return f.info, nil }

func (f *farFile) Read(p []byte) (int, error) {
	if f.content == nil {
		return 0, &fs.PathError{Op: "read", Path: f.info.name, Err: errors.New("is a directory")}
	}
	return f.content.Read(p)
}

func (f *farFile) Close() error {
	if f.close == nil {
		return nil
	}
	return f.close()
}

func (f *farFile) ReadDir(n int) ([]fs.DirEntry, error) {
	if f.content != nil {
		return nil, &fs.PathError{Op: "readdir", Path: f.info.name, Err: errors.New("not a directory")}
	}
	if n <= 0 {
		n = len(f.entries)
	} else if len(f.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(f.entries))
	list := f.entries[:n:n]
	f.entries = f.entries[n:]
	return list, nil
}
