// Package walk lists the files of a tree with several workers, leaving out what
// git ignores. It follows no symlinks and never leaves its root.
package walk

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	entries    = 1024 // read from a folder at a time
)

// A Walk says what to list. Paths are relative to Root, with slashes.
type Walk struct {
	Root *os.Root
	// Rules are in force at Root, see [Above]; Prefix is the path of Root from the
	// folder that they are relative to, "" for that folder itself.
	Rules  *gitignore.Rules
	Prefix string
	Enter  func(folder string) bool // nil: every folder. Called by several goroutines
	Want   func(file string) bool   // nil: every file. Called by several goroutines
	Links  bool                     // list symlinks as well, unless they lead to a folder
	Max    int                      // files; 0: 1,000,000
}

// A File is a regular file, or a symlink if they are wanted.
type File struct {
	Path    string // relative to the root, with slashes
	ModTime time.Time
}

// A Listing is what a walk has found.
type Listing struct {
	Files      []File // by path
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
	l.wake.L = &l.mu
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), maxWorkers) {
		group.Go(l.work)
	}
	group.Wait()
	if l.err != nil {
		return nil, l.err
	}
	slices.SortFunc(l.found.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
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
		part, more, err := l.read(f)
		l.mu.Lock()
		l.busy--
		l.add(part, more, err)
		l.wake.Broadcast()
	}
}

// add takes what was read from a folder into account. l.mu is held.
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

// read lists one folder.
func (l *lister) read(f folder) (part Listing, more []folder, err error) {
	unreadable := func(err error) (Listing, []folder, error) {
		if f.path == "" {
			return part, nil, fmt.Errorf("reading the folder: %w", err)
		}
		part.Unreadable++
		return part, more, l.ctx.Err()
	}
	root := l.Root
	if f.path != "" {
		if root, err = l.Root.OpenRoot(f.path); err != nil {
			return unreadable(err)
		}
		defer root.Close()
	}
	dir, err := root.Open(".")
	if err != nil {
		return unreadable(err)
	}
	defer dir.Close()
	rules := enter(root, f.rules, join(l.Prefix, f.path))
	for {
		if err := l.ctx.Err(); err != nil {
			return part, nil, err
		}
		list, err := dir.ReadDir(entries)
		for _, e := range list {
			more = l.entry(root, f, rules, e, &part, more)
		}
		switch {
		case len(part.Files) > l.max:
			return part, nil, nil
		case err == io.EOF:
			return part, more, nil
		case err != nil:
			return unreadable(err)
		}
	}
}

// entry adds an entry of the folder f to part or more, if it is wanted.
func (l *lister) entry(root *os.Root, f folder, rules *gitignore.Rules, e os.DirEntry, part *Listing, more []folder) []folder {
	name := e.Name()
	full := join(join(l.Prefix, f.path), name)
	path := full
	if l.Prefix != "" {
		path = full[len(l.Prefix)+1:]
	}
	isFolder := e.IsDir()
	link := e.Type()&os.ModeSymlink != 0
	switch {
	case name == ".git":
		return more
	case isFolder:
		if l.Enter != nil && !l.Enter(path) {
			return more
		}
	case !e.Type().IsRegular() && !(link && l.Links):
		return more
	case l.Want != nil && !l.Want(path):
		return more
	}
	if rules.Ignores(full, isFolder) {
		part.Ignored++
		return more
	}
	if isFolder {
		if f.depth == maxDepth {
			part.Unreadable++
			return more
		}
		return append(more, folder{path: path, depth: f.depth + 1, rules: rules})
	}
	if link {
		if info, err := root.Stat(name); err == nil && info.IsDir() {
			return more
		}
	}
	info, err := root.Lstat(name)
	if err == nil { // otherwise it is gone by now
		part.Files = append(part.Files, File{Path: path, ModTime: info.ModTime()})
	}
	return more
}

// join joins two slash-separated paths, of which each may be empty.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "/" + b
}
