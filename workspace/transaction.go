package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/openagent-go/agent/internal/safefile"
)

// maxTotal is how many bytes the files of one UpdateAll may hold together.
const maxTotal = 256 << 20

// A Content is the new state of a file in [Workspace.UpdateAll].
type Content struct {
	Data   []byte // the bytes of the file
	Remove bool   // there is to be no file
	// Like is the name of one of the given files, whose mode and owner a new file takes. ""
	// means the system's defaults for new files.
	Like string
}

// UpdateAll changes several files, or none. change gets the contents of the named files,
// nil for a missing one, and returns the new state of each, in the same order. Unchanged
// files are not written. No reader sees a half-written file, and modes and owners stay.
//
// If anything fails, or ctx ends before all is written, the changed files are put back, the
// same files with all attributes, and new folders are removed. If that fails too, the error
// names the files and the places of their old content. A crash of the program or the
// machine can leave a part of the changes. A place elsewhere makes the changes as a whole even
// if the connection breaks. An error of change is returned as it is.
//
// Two names for one file are an error, and so are files larger than 64 MB, or
// than 256 MB together.
func (w *Workspace) UpdateAll(ctx context.Context, dir string, names []string, change func(old [][]byte) ([]Content, error)) error {
	if far := w.elsewhere(); far != nil {
		return far.update(ctx, dir, names, change)
	}
	t := transaction{roots: map[string]*os.Root{}}
	defer t.close()
	if err := t.find(w, dir, names); err != nil {
		return err
	}
	defer t.lock(w)()
	old, err := t.load(ctx)
	if err != nil {
		return err
	}
	contents, err := change(old)
	if err != nil {
		return err
	}
	if len(contents) != len(names) {
		return fmt.Errorf("changing %d files: %d contents were given", len(names), len(contents))
	}
	for i, c := range contents {
		f := t.files[i]
		f.data, f.remove, f.like = c.Data, c.Remove, f.info
		if f.info == nil && c.Like != "" {
			j := slices.Index(names, c.Like)
			if j < 0 {
				return fmt.Errorf("writing %s: its Like names %s, which is not one of the files", f.path, c.Like)
			}
			f.like = t.files[j].info
		}
	}
	return t.run(ctx)
}

// A transaction is one UpdateAll.
type transaction struct {
	roots   map[string]*os.Root
	files   []*change
	folders []madeFolder // in the order in which they were made
}

type madeFolder struct {
	root *os.Root
	rel  string
	path string
}

// A change is the work of a transaction on one file.
type change struct {
	place
	root *os.Root
	old  []byte      // nil: there was no file
	info fs.FileInfo // of old
	data []byte
	like fs.FileInfo // whose mode and owner it gets

	remove bool
	temp   string // the new content, until it has its name
	backup string // the old file under another name, "" where the system makes no links
	done   bool
}

func (t *transaction) close() {
	for _, r := range t.roots {
		r.Close()
	}
}

// find locates the files and opens their roots.
func (t *transaction) find(w *Workspace, dir string, names []string) error {
	paths := map[string]bool{}
	for _, name := range names {
		p, err := w.locate(dir, name, false)
		if err != nil {
			return err
		}
		if paths[p.path] {
			return fmt.Errorf("%s is named twice", p.path)
		}
		paths[p.path] = true
		if t.roots[p.root] == nil {
			if t.roots[p.root], err = p.open(); err != nil {
				return err
			}
		}
		t.files = append(t.files, &change{place: p, root: t.roots[p.root]})
	}
	return nil
}

// lock waits for all files, always in the order of their paths, so that two
// transactions never wait for each other.
func (t *transaction) lock(w *Workspace) (unlock func()) {
	var paths []string
	for _, f := range t.files {
		paths = append(paths, f.path)
	}
	slices.Sort(paths)
	var unlocks []func()
	for _, p := range paths {
		unlocks = append(unlocks, w.locks.lock(p))
	}
	return func() {
		for _, u := range unlocks {
			u()
		}
	}
}

func (t *transaction) load(ctx context.Context) ([][]byte, error) {
	var all [][]byte
	total := 0
	for _, f := range t.files {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("reading %s: %w", f.path, err)
		}
		var err error
		if f.old, f.info, err = load(f.root, f.place); err != nil {
			return nil, err
		}
		if total += len(f.old); total > maxTotal {
			return nil, fmt.Errorf("the files are together too large to change: more than %d MB", maxTotal>>20)
		}
		all = append(all, f.old)
	}
	return all, nil
}

// changes reports whether the file becomes another one.
func (f *change) changes() bool {
	return (f.old == nil) != f.remove || !f.remove && !bytes.Equal(f.old, f.data)
}

func (t *transaction) run(ctx context.Context) error {
	err := t.each(ctx, t.prepare)
	if err == nil {
		err = t.each(ctx, (*change).commit)
	}
	if err != nil {
		return errors.Join(err, t.undo())
	}
	t.clean()
	return nil
}

func (t *transaction) each(ctx context.Context, do func(*change) error) error {
	for _, f := range t.files {
		if !f.changes() {
			continue
		}
		err := ctx.Err()
		if err == nil {
			err = do(f)
		}
		if err != nil {
			verb := "writing"
			if f.remove {
				verb = "removing"
			}
			return fmt.Errorf("%s %s: %w", verb, f.path, bare(err))
		}
	}
	return nil
}

// prepare does everything that can be done beside the file, so that most failures, above
// all a full disk, happen here.
func (t *transaction) prepare(f *change) error {
	if f.info != nil {
		if err := writable(f.root, f.rel); err != nil {
			return err
		}
		if !f.remove {
			// A link keeps the old file, so that there is no moment without a file. On
			// systems without links the bytes in memory must do.
			if name := tempName(f.rel); f.root.Link(f.rel, name) == nil {
				f.backup = name
			}
		}
	}
	if f.remove {
		return nil
	}
	if err := t.makeFolder(f, filepath.Dir(f.rel)); err != nil {
		return err
	}
	temp := tempName(f.rel)
	if err := fill(f.root, temp, f.data, f.like); err != nil {
		return err
	}
	f.temp = temp
	return nil
}

// makeFolder makes the folder rel and remembers the parts that were missing.
func (t *transaction) makeFolder(f *change, rel string) error {
	var missing []string
	for at := rel; at != "."; at = filepath.Dir(at) {
		info, err := f.root.Stat(at)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("%s is a file, not a folder", filepath.Join(f.place.root, at))
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		missing = append(missing, at)
	}
	for _, name := range slices.Backward(missing) {
		switch err := f.root.Mkdir(name, 0o777); {
		case err == nil:
			t.folders = append(t.folders, madeFolder{f.root, name, filepath.Join(f.place.root, name)})
		case !errors.Is(err, fs.ErrExist):
			return err
		}
	}
	return nil
}

func tempName(rel string) string {
	return filepath.Join(filepath.Dir(rel), ".tmp-"+strconv.FormatUint(rand.Uint64(), 36))
}

// commit gives the new content its name, or takes the file away.
func (f *change) commit() error {
	if err := f.unchanged(); err != nil {
		return err
	}
	if !f.remove {
		if err := f.root.Rename(f.temp, f.rel); err != nil {
			return err
		}
		f.temp, f.done = "", true
		return nil
	}
	name := tempName(f.rel)
	if err := f.root.Rename(f.rel, name); err != nil {
		return err
	}
	f.backup, f.done = name, true
	return nil
}

// unchanged returns an error unless the file is still the one that was read, or
// there is still none.
func (f *change) unchanged() error {
	now, err := f.root.Lstat(f.rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if f.info != nil {
			return ErrChanged
		}
		return nil
	case err != nil:
		return err
	case now.IsDir():
		return errors.New("it is now a folder")
	case f.info == nil || !os.SameFile(now, f.info) || !now.ModTime().Equal(f.info.ModTime()) || now.Size() != f.info.Size():
		return ErrChanged
	}
	return nil
}

// undo puts everything back. It does all it can, even if a step fails.
func (t *transaction) undo() error {
	var errs []error
	for _, f := range slices.Backward(t.files) {
		if !f.done {
			continue
		}
		if err := f.restore(); err != nil {
			at := ""
			if f.backup != "" {
				at = ", its old content is in " + filepath.Join(f.place.root, f.backup)
				f.backup = ""
			}
			errs = append(errs, fmt.Errorf("putting back %s: %w%s", f.path, bare(err), at))
		}
	}
	t.clean()
	for _, d := range slices.Backward(t.folders) {
		// A folder that is not empty belongs to someone else by now.
		if err := d.root.Remove(d.rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("removing the folder %s: %w", d.path, bare(err)))
		}
	}
	return errors.Join(errs...)
}

func (f *change) restore() error {
	switch {
	case f.info == nil:
		return f.root.Remove(f.rel)
	case f.backup != "":
		if err := f.root.Rename(f.backup, f.rel); err != nil {
			return err
		}
		f.backup = ""
		return nil
	}
	temp := tempName(f.rel)
	if err := fill(f.root, temp, f.old, f.info); err != nil {
		return err
	}
	if err := f.root.Rename(temp, f.rel); err != nil {
		f.root.Remove(temp)
		return err
	}
	return nil
}

// clean removes the transaction's own files and makes the rest last.
func (t *transaction) clean() {
	folders := map[place]bool{}
	for _, f := range t.files {
		for _, name := range []string{f.temp, f.backup} {
			if name != "" {
				f.root.Remove(name)
			}
		}
		if at := (place{root: f.place.root, rel: filepath.Dir(f.rel)}); f.done && !folders[at] {
			folders[at] = true
			_ = safefile.SyncFolderIn(f.root, at.rel) // the files are in place
		}
	}
}
