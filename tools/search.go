package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/gitignore"
	"github.com/openagent-go/agent/internal/grep"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/internal/walk"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

// A tree is a folder to search.
type tree struct {
	call   tool.Call
	folder workspace.Folder
	finder toolapi.Finder
	path   string // absolute, without symlinks
	named  string // the model's path, absolute: path, or the file, before links are followed
	top    string // the working directory, without symlinks
	file   string // the only file to search, if the model named a file

	unreadable *rules.Unreadable // in the folder
}

// A missingError is the error for a path that does not exist, in words for the model.
type missingError struct{ text string }

func (e *missingError) Error() string { return e.text }

// openTree opens the file or folder called name, the working directory for "".
// Its errors are for the model. The tree must be closed.
func openTree(ctx context.Context, finder toolapi.Finder, call tool.Call, name string) (*tree, error) {
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
	t := &tree{call: call, finder: finder, path: path, named: filepath.Clean(filepath.FromSlash(name)), top: top}
	if !filepath.IsAbs(t.named) {
		t.named = filepath.Join(call.Dir, t.named)
	}
	t.folder, _, err = finder.OpenFolder(ctx, "", path)
	if err == nil || t.openParent(ctx) {
		t.unreadable = rules.UnreadableOf(call.Unreadable, call.Dir).Under(t.path)
		return t, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &missingError{fmt.Sprintf("%s does not exist.%s", path, suggestPath(ctx, finder, call, path))}
	}
	return nil, err
}

// openParent makes t the folder of the file at t.path, if that is one.
func (t *tree) openParent(ctx context.Context) bool {
	folder, parent, err := t.finder.OpenFolder(ctx, "", filepath.Dir(t.path))
	if err != nil {
		return false
	}
	name := filepath.Base(t.path)
	info, err := folder.Lstat(name)
	if err != nil || info.IsDir() {
		folder.Close()
		return false
	}
	t.folder, t.path, t.file = folder, parent, name
	return true
}

func (t *tree) close() { t.folder.Close() }

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
	if local, ok := t.folder.(walk.Rooted); ok {
		w.Root = local.Root()
		w.Rules, w.Prefix = walk.Above(t.path, t.top)
	} else {
		w.Tree = t.folder
		w.Rules, w.Prefix = t.rulesAbove(ctx)
	}
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

// rulesAbove returns the ignore rules of the folders from the working directory down to t,
// for a tree that is not on a disk of this machine.
func (t *tree) rulesAbove(ctx context.Context) (*gitignore.Rules, string) {
	rel, err := filepath.Rel(t.top, t.path)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return nil, ""
	}
	top, _, err := t.finder.OpenFolder(ctx, "", t.top)
	if err != nil {
		return nil, ""
	}
	defer top.Close()
	return walk.AboveIn(ctx, top, filepath.ToSlash(rel))
}

// search searches files of t.
func (t *tree) search(ctx context.Context, s grep.Search, paths []string, report func(path string, r grep.Report) bool) error {
	if local, ok := t.folder.(walk.Rooted); ok {
		return s.Files(ctx, local.Root(), paths, report)
	}
	return s.Tree(ctx, t.folder, paths, report)
}

// read reads files of t, in order. Those that cannot be read are left out.
func (t *tree) read(ctx context.Context, paths []string, yield func(i int, r io.Reader)) error {
	local, ok := t.folder.(walk.Rooted)
	if !ok {
		return walk.ReadFiles(ctx, t.folder, paths, func(i int, r io.Reader, err error) error {
			if err == nil {
				yield(i, r)
			}
			return nil
		})
	}
	at, err := walk.OpenFolder(local.Root())
	if err != nil {
		return err
	}
	defer at.Close()
	for i, name := range paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		dir, base := path.Split(name)
		if at.Go(strings.TrimSuffix(dir, "/")) != nil {
			continue
		}
		f, err := at.Open(base)
		if err != nil {
			continue
		}
		yield(i, f)
		f.Close()
	}
	return nil
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
func suggestPath(ctx context.Context, finder toolapi.Finder, call tool.Call, path string) string {
	dir, missing := filepath.Dir(path), filepath.Base(path)
	for {
		folder, _, err := finder.OpenFolder(ctx, "", dir)
		if err == nil {
			defer folder.Close()
			return meant(dir, missing, visible(folder, call, dir))
		}
		parent := filepath.Dir(dir)
		if parent == dir || !errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		dir, missing = parent, filepath.Base(dir)
	}
}

// visible lists the names in a folder that rules do not hide.
func visible(folder workspace.Folder, call tool.Call, dir string) []string {
	f, err := folder.Open(".")
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := readDir(f)
	call.Unreadable = rules.UnreadableOf(call.Unreadable, call.Dir).Under(dir)
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
