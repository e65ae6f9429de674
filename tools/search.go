package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/walk"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A Finder gives Glob and Grep the files to search. Names are absolute or relative to dir,
// the working directory of a call.
type Finder interface {
	// Resolve returns the absolute path of name without symlinks.
	Resolve(dir, name string) (string, error)
	// OpenRoot opens the folder at name, and returns its path as Resolve does.
	OpenRoot(dir, name string) (*os.Root, string, error)
}

// A tree is a folder to search.
type tree struct {
	call  tool.Call
	root  *os.Root
	path  string // absolute, without symlinks
	named string // the model's path, absolute: path, or the file, before links are followed
	top   string // the working directory, without symlinks
	file  string // the only file to search, if the model named a file

	unreadable *permission.Unreadable // in the folder
}

// A missingError is the error for a path that does not exist, in words for the model.
type missingError struct{ text string }

func (e *missingError) Error() string { return e.text }

// openTree opens the file or folder called name, the working directory for "".
// Its errors are for the model. The tree must be closed.
func openTree(finder Finder, call tool.Call, name string) (*tree, error) {
	if name == "" {
		name = "."
	}
	path, err := finder.Resolve(call.Dir, name)
	if err != nil {
		return nil, err
	}
	top, err := finder.Resolve(call.Dir, ".")
	if err != nil {
		return nil, err
	}
	t := &tree{call: call, path: path, named: filepath.Clean(filepath.FromSlash(name)), top: top}
	if !filepath.IsAbs(t.named) {
		t.named = filepath.Join(call.Dir, t.named)
	}
	t.root, _, err = finder.OpenRoot("", path)
	if err == nil || t.openParent(finder) {
		t.unreadable = call.Unreadable.Under(t.path)
		return t, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &missingError{fmt.Sprintf("%s does not exist.%s", path, suggestPath(finder, call, path))}
	}
	return nil, err
}

// openParent makes t the folder of the file at t.path, if that is one.
func (t *tree) openParent(finder Finder) bool {
	root, parent, err := finder.OpenRoot("", filepath.Dir(t.path))
	if err != nil {
		return false
	}
	name := filepath.Base(t.path)
	info, err := root.Lstat(name)
	if err != nil || info.IsDir() {
		root.Close()
		return false
	}
	t.root, t.path, t.file = root, parent, name
	return true
}

func (t *tree) close() { t.root.Close() }

// abs returns the absolute path of a file of t.
func (t *tree) abs(path string) string { return filepath.Join(t.path, filepath.FromSlash(path)) }

// show returns the path of a file of t, relative if it is in the working directory.
func (t *tree) show(path string) string {
	abs := t.abs(path)
	if rel, err := filepath.Rel(t.top, abs); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return abs
}

// hides reports whether the rules forbid showing a file of t.
func (t *tree) hides(f walk.File) bool {
	abs, named := t.abs(f.Path), t.named
	if t.file == "" && named != t.path {
		named = filepath.Join(named, filepath.FromSlash(f.Path))
	} else if t.file == "" {
		named = abs
	}
	if f.Link && t.unreadable.Hides(abs, t.call.Dir) {
		return true
	}
	return t.unreadable.HidesPlain(abs, t.call.Dir) || named != abs && t.unreadable.HidesPlain(named, t.call.Dir)
}

// heading is the title of a result: the tool and its pattern.
func heading(name, pattern string) string {
	return name + " " + oneLine(text.Runes(pattern, 80))
}

// list lists the files of t that w wants and no rule hides. Too many files are
// an error for the model.
func (t *tree) list(ctx context.Context, w walk.Walk) (*walk.Listing, error) {
	w.Root = t.root
	w.Rules, w.Prefix = walk.Above(t.path, t.top)
	l, err := w.List(ctx)
	if errors.Is(err, walk.ErrTooMany) {
		return nil, fmt.Errorf("%w in %s: search a folder further down, or for fewer names", err, t.path)
	}
	if err != nil {
		return nil, err
	}
	if t.unreadable != nil {
		l.Files = slices.DeleteFunc(l.Files, func(f walk.File) bool { return ctx.Err() != nil || t.hides(f) })
	}
	return l, ctx.Err()
}

// leftOut names the files that a search without results has skipped.
func leftOut(l *walk.Listing) string {
	var text string
	if l.Ignored > 0 {
		text += fmt.Sprintf(" %s left out because git ignores them; name an ignored folder in path to search it.", were(l.Ignored, "file or folder", "files and folders"))
	}
	return text + unread(l)
}

// unread says that a search is not complete.
func unread(l *walk.Listing) string {
	if l.Unreadable == 0 {
		return ""
	}
	return fmt.Sprintf(" %s not searched: no permission, or too deep.", were(l.Unreadable, "folder", "folders"))
}

func were(n int, one, many string) string {
	if n == 1 {
		return "1 " + one + " was"
	}
	return fmt.Sprintf("%d %s were", n, many)
}

// suggestPath names paths similar to one that does not exist.
func suggestPath(finder Finder, call tool.Call, path string) string {
	dir, missing := filepath.Dir(path), filepath.Base(path)
	for {
		root, _, err := finder.OpenRoot("", dir)
		if err == nil {
			defer root.Close()
			return meant(dir, missing, visible(root, call, dir))
		}
		parent := filepath.Dir(dir)
		if parent == dir || !errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		dir, missing = parent, filepath.Base(dir)
	}
}

// visible lists the names in a folder that rules do not hide.
func visible(root *os.Root, call tool.Call, dir string) []string {
	f, err := root.Open(".")
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxFolder)
	call.Unreadable = call.Unreadable.Under(dir)
	var names []string
	for _, e := range entries {
		if !call.Hides(filepath.Join(dir, e.Name())) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

// oneLine returns s so that it cannot be taken for several lines: file names may
// hold line breaks.
func oneLine(s string) string { return breaks.Replace(s) }

var breaks = strings.NewReplacer("\n", `\n`, "\r", `\r`)
