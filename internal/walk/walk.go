// Package walk lists the files of a tree with several workers, without those that git
// ignores. It follows no symlinks and never leaves its root.
package walk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/gitignore"
)

// ErrTooMany is matched by the error for a tree with more files than wanted.
var ErrTooMany = errors.New("too many files")

const (
	maxFiles   = 1_000_000
	maxDepth   = 256 // folders; those below count as unreadable
	maxWorkers = 16
	atOnce     = 1024 // entries of a folder asked for in one go, where that can be said
)

// A Walk selects the files to list. Paths are relative to Root, with slashes.
type Walk struct {
	Root *os.Root
	// Tree takes the place of Root for a folder that is on no disk of this machine.
	Tree fs.ReadLinkFS
	// Rules are in force at Root, see [Above]; Prefix is the path of Root from the
	// folder that they are relative to, "" for that folder itself.
	Rules  *gitignore.Rules
	Prefix string
	Enter  func(folder string) bool // nil: every folder. Called by several goroutines
	Want   func(file string) bool   // nil: every file. Called by several goroutines
	Links  bool                     // list symlinks as well, unless they lead to a folder
	Times  bool                     // tell when files were changed, and list the newest first
	Max    int                      // files; 0: 1,000,000
}

// A File is a regular file, or a symlink if they are wanted.
type File struct {
	Path    string    // relative to the root, with slashes
	ModTime time.Time // zero unless times are wanted
	Link    bool      // it is a symlink
}

// A Listing is the result of a walk.
type Listing struct {
	Files      []File // by path, or [ByTime]
	Ignored    int    // files and folders left out because git ignores them
	Unreadable int    // folders that could not be read
}

// ByTime sorts files by the time of their last change, the newest first, and by
// path where that is the same.
func ByTime(files []File) {
	slices.SortFunc(files, func(a, b File) int {
		if c := b.ModTime.Compare(a.ModTime); c != 0 {
			return c
		}
		return strings.Compare(a.Path, b.Path)
	})
}

// List walks the tree. Folders named .git are not entered. A folder that cannot
// be read is counted, unless it is the root. More than w.Max files are an error
// that matches [ErrTooMany].
func (w *Walk) List(ctx context.Context) (*Listing, error) {
	l := &lister{Walk: w, ctx: ctx, todo: []folder{{rules: w.Rules}}, max: w.Max}
	if l.max == 0 {
		l.max = maxFiles
	}
	if w.Tree != nil {
		l.levels()
	} else {
		l.wake.L = &l.mu
		var group sync.WaitGroup
		for range min(runtime.GOMAXPROCS(0), maxWorkers) {
			group.Go(l.work)
		}
		group.Wait()
	}
	if l.err != nil {
		return nil, l.err
	}
	if w.Times {
		ByTime(l.found.Files)
	} else {
		slices.SortFunc(l.found.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	}
	return &l.found, nil
}

// A folder waits to be read.
type folder struct {
	path  string // "" is the root
	depth int
	rules *gitignore.Rules
}

// A lister is a walk under way.
type lister struct {
	*Walk
	ctx context.Context
	max int

	mu    sync.Mutex
	wake  sync.Cond // there is more to do, or nothing will be any more
	todo  []folder  // the last is next, so that few wait
	busy  int       // workers that may find more
	err   error
	found Listing
}

// work reads folders until none is left or something went wrong.
func (l *lister) work() {
	at, err := OpenFolder(l.Root)
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.err = fmt.Errorf("reading the folder: %w", err)
		l.wake.Broadcast()
		return
	}
	defer at.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		for len(l.todo) == 0 && l.busy > 0 && l.err == nil {
			l.wake.Wait()
		}
		if len(l.todo) == 0 || l.err != nil {
			return
		}
		f := l.todo[len(l.todo)-1]
		l.todo = l.todo[:len(l.todo)-1]
		l.busy++
		l.mu.Unlock()
		part, more, err := l.read(at, f)
		l.mu.Lock()
		l.busy--
		l.add(part, more, err)
		l.wake.Broadcast()
	}
}

// add merges the entries of a folder into the listing. l.mu is held.
func (l *lister) add(part Listing, more []folder, err error) {
	l.todo = append(l.todo, more...)
	l.found.Files = append(l.found.Files, part.Files...)
	l.found.Ignored += part.Ignored
	l.found.Unreadable += part.Unreadable
	if err == nil && len(l.found.Files) > l.max {
		err = fmt.Errorf("%w: more than %d", ErrTooMany, l.max)
	}
	if l.err == nil {
		l.err = err
	}
}

// errStop ends the reading of a folder with too many files.
var errStop = errors.New("stop")

// read lists one folder.
func (l *lister) read(at *Folder, f folder) (part Listing, more []folder, err error) {
	if err := l.ctx.Err(); err != nil {
		return part, nil, err
	}
	if err = at.Go(f.path); err == nil {
		full := join(l.Prefix, f.path)
		r := reader{lister: l, at: at, folder: f, full: full, inner: enter(l.Root, at, f.path, f.rules, full)}
		err = at.each(r.entry)
		part, more = r.part, r.more
	}
	switch {
	case err == nil, errors.Is(err, errStop):
		return part, more, nil
	case l.ctx.Err() != nil:
		return part, nil, l.ctx.Err()
	case f.path == "":
		return part, nil, fmt.Errorf("reading the folder: %w", err)
	}
	part.Unreadable++
	return part, more, nil
}

// A reader lists one folder.
type reader struct {
	*lister
	at interface {
		lstat(name string) (facts, error)
	}
	folder
	full  string           // the folder's path for the rules
	inner *gitignore.Rules // in force in it
	seen  int
	part  Listing
	more  []folder
}

// entry takes an entry of the folder, if it is wanted.
func (r *reader) entry(base []byte, kind os.FileMode) error {
	if r.seen++; r.seen%atOnce == 0 && r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	link := kind == os.ModeSymlink
	if string(base) == ".git" || !kind.IsDir() && !kind.IsRegular() && !(link && r.Links) {
		return nil
	}
	full := join(r.full, string(base))
	path := full
	if r.Prefix != "" {
		path = full[len(r.Prefix)+1:]
	}
	switch {
	case kind.IsDir():
		if r.Enter != nil && !r.Enter(path) {
			return nil
		}
	case r.Want != nil && !r.Want(path):
		return nil
	}
	if r.inner.Ignores(full, kind.IsDir()) {
		r.part.Ignored++
		return nil
	}
	if kind.IsDir() {
		if r.depth == maxDepth {
			r.part.Unreadable++
			return nil
		}
		r.more = append(r.more, folder{path: path, depth: r.depth + 1, rules: r.inner})
		return nil
	}
	return r.file(path, full[len(full)-len(base):], link)
}

func (l *lister) stat(path string) (fs.FileInfo, error) {
	if l.Tree != nil {
		return fs.Stat(l.Tree, path)
	}
	return l.Root.Stat(path)
}

// file adds a file.
func (r *reader) file(path, name string, link bool) error {
	if link {
		if info, err := r.stat(path); err == nil && info.IsDir() {
			return nil
		}
	}
	file := File{Path: path, Link: link}
	if r.Times {
		about, err := r.at.lstat(name)
		if err != nil {
			return nil // gone by now
		}
		file.ModTime = about.modTime
	}
	if r.part.Files = append(r.part.Files, file); len(r.part.Files) > r.max {
		return errStop
	}
	return nil
}

// join joins two slash-separated paths, of which each may be empty.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "/" + b
}
