package walk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/openagent-go/agent/internal/gitignore"
)

// A Rooted folder is on a disk of this machine. Searches read it in parallel.
type Rooted interface {
	Root() *os.Root
}

// A batch is a tree that reads many names with one request, see workspace.Folder.
type batch interface {
	ReadDirs(ctx context.Context, names []string, yield func(i int, list []fs.DirEntry, err error)) error
	ReadFiles(ctx context.Context, names []string, yield func(i int, r io.Reader, err error) error) error
}

// ReadFiles reads files of a tree, as workspace.Folder does.
func ReadFiles(ctx context.Context, tree fs.FS, names []string, yield func(i int, r io.Reader, err error) error) error {
	if len(names) == 0 {
		return nil
	}
	if b, ok := tree.(batch); ok {
		return b.ReadFiles(ctx, names, yield)
	}
	for i, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := readFile(tree, name, func(r io.Reader, err error) error { return yield(i, r, err) }); err != nil {
			return err
		}
	}
	return nil
}

func readFile(tree fs.FS, name string, yield func(r io.Reader, err error) error) error {
	f, err := tree.Open(name)
	if err != nil {
		return yield(nil, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return yield(nil, err)
	} else if !info.Mode().IsRegular() {
		return yield(nil, &fs.PathError{Op: "open", Path: name, Err: errNotFile})
	}
	return yield(f, nil)
}

// readDirs lists folders of a tree, as workspace.Folder does.
func readDirs(ctx context.Context, tree fs.FS, names []string, yield func(i int, list []fs.DirEntry, err error)) error {
	if b, ok := tree.(batch); ok {
		return b.ReadDirs(ctx, names, yield)
	}
	for i, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		list, err := fs.ReadDir(tree, name)
		yield(i, list, err)
	}
	return nil
}

// A level is the folders of a tree that are equally far from its root, with their entries
// and ignore files. Reading it takes a fixed number of requests.
type level struct {
	folders []folder
	lists   [][]fs.DirEntry
	errs    []error
	ignore  [][]byte // .gitignore
	exclude [][]byte // .git/info/exclude
	nested  []bool   // it has a .git
}

// levels lists a tree level by level.
func (l *lister) levels() {
	for len(l.todo) > 0 && l.err == nil {
		v := level{folders: l.todo}
		l.todo = nil
		if l.err = l.ctx.Err(); l.err == nil {
			l.err = v.read(l.ctx, l.Tree)
		}
		for i := range v.folders {
			if l.err != nil {
				return
			}
			l.add(l.readLevel(&v, i))
		}
	}
}

// read lists the folders of v and reads their ignore files.
func (v *level) read(ctx context.Context, tree fs.FS) error {
	n := len(v.folders)
	v.lists, v.errs, v.ignore, v.exclude, v.nested = make([][]fs.DirEntry, n), make([]error, n), make([][]byte, n), make([][]byte, n), make([]bool, n)
	names := make([]string, n)
	for i, f := range v.folders {
		names[i] = cmp.Or(f.path, ".")
	}
	if err := readDirs(ctx, tree, names, func(i int, list []fs.DirEntry, err error) { v.lists[i], v.errs[i] = list, err }); err != nil {
		return fmt.Errorf("reading the folder: %w", err)
	}
	var files []string
	var into []*[]byte
	for i, list := range v.lists {
		for _, e := range list {
			switch {
			case e.Name() == ".gitignore" && e.Type().IsRegular(): // git reads no symlink either
				files, into = append(files, path.Join(v.folders[i].path, ".gitignore")), append(into, &v.ignore[i])
			case e.Name() == ".git":
				v.nested[i] = true
				if e.IsDir() {
					files, into = append(files, path.Join(v.folders[i].path, ".git/info/exclude")), append(into, &v.exclude[i])
				}
			}
		}
	}
	return ReadFiles(ctx, tree, files, func(i int, r io.Reader, err error) error {
		if err == nil {
			*into[i] = limited(r)
		}
		return nil
	})
}

// limited reads an ignore file; nil if it cannot be read or is too large to be one.
func limited(r io.Reader) []byte {
	data, err := io.ReadAll(io.LimitReader(r, maxIgnore+1))
	if err != nil || len(data) > maxIgnore {
		return nil
	}
	return data
}

// rules returns the rules in force in a folder of v, whose path for them is full.
func (v *level) rules(i int, full string) *gitignore.Rules {
	rules := v.folders[i].rules
	if v.nested[i] { // a repository within another starts with none
		var none *gitignore.Rules
		rules = none.With(full, v.exclude[i])
	}
	if v.ignore[i] == nil {
		return rules
	}
	return rules.With(full, v.ignore[i])
}

// readLevel is [lister.read] for a folder of a level.
func (l *lister) readLevel(v *level, i int) (part Listing, more []folder, err error) {
	f := v.folders[i]
	if v.errs[i] != nil {
		if f.path == "" {
			return part, nil, fmt.Errorf("reading the folder: %w", v.errs[i])
		}
		part.Unreadable++
		return part, nil, nil
	}
	full := join(l.Prefix, f.path)
	about := entryFacts{}
	r := reader{lister: l, at: &about, folder: f, full: full, inner: v.rules(i, full)}
	for _, e := range v.lists[i] {
		if name := e.Name(); name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
			continue // no name of an entry: it could lead elsewhere
		}
		about.entry = e
		if err = r.entry([]byte(e.Name()), e.Type()); err != nil {
			break
		}
	}
	if errors.Is(err, errStop) {
		err = nil
	}
	return r.part, r.more, err
}

// entryFacts describes an entry by what was listed.
type entryFacts struct{ entry fs.DirEntry }

func (e *entryFacts) lstat(string) (facts, error) {
	info, err := e.entry.Info()
	if err != nil {
		return facts{}, err
	}
	return facts{mode: info.Mode().Type(), size: info.Size(), modTime: info.ModTime()}, nil
}

// AboveIn returns the ignore rules that the folders from top down to the one above rel put
// in force in rel, and rel as their prefix. An ignored folder is free of rules: a caller
// that names it wants to see it.
func AboveIn(ctx context.Context, top fs.FS, rel string) (rules *gitignore.Rules, prefix string) {
	at := ""
	v := level{}
	for name := range strings.SplitSeq(rel, "/") {
		v.folders = append(v.folders, folder{path: at})
		at = join(at, name)
	}
	if err := v.read(ctx, top); err != nil {
		return nil, ""
	}
	for i, f := range v.folders {
		v.folders[i].rules = rules
		rules = v.rules(i, f.path)
		next := rel
		if i+1 < len(v.folders) {
			next = v.folders[i+1].path
		}
		if rules.Ignores(next, true) {
			return nil, ""
		}
	}
	return rules, rel
}
