// Package project finds the things that a model should know about its folder: files of
// instructions (AGENTS.md, CLAUDE.md) and the state of git.
//
//	notes := new(project.Notes)
//	a := &agent.Agent{Model: model, Context: notes.Context}
//
// Everyone who can write to the project can write these files. They are bounded, never read
// from outside the project, and the model learns where each text comes from.
package project

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/text"
)

// Bounds of files of instructions.
const (
	maxFile    = 40 << 10  // bytes of a file; the rest is cut off, with a note
	maxAll     = 120 << 10 // bytes of a file with all that it imports
	maxImports = 20        // files that one imports, in all
	maxDepth   = 5         // imports within each other
	maxLevels  = 40        // folders between the root of the project and a file
)

// Who wrote a file, in the words of Claude Code's hooks.
const (
	kindUser    = "User"
	kindProject = "Project"
	kindLocal   = "Local" // the user, for this project alone
)

// names of files of instructions in a folder, in the order in which the model gets them.
var names = []string{"AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"}

// A place says where instructions are looked for.
type place struct {
	dir            string // the working directory, absolute
	home, userHome string // as in Notes
	noProject      bool
	hides          func(path string) bool // reports whether a file (absolute) must not be read; nil: none
}

// A File is a file of instructions with its imports.
type File struct {
	Path string // absolute
	Kind string // "User", "Project", or "Local" for the user in this project alone
	// reason is session_start, or nested_traversal for a file below the working directory.
	reason string
	Text   string // its content
	// imports are the files that the text imports, and those that they do.
	imports []string
	// Problem says why the file cannot be read; nil where it was. A pipe in its place is
	// such a reason. The text is empty then.
	Problem error
}

// sum changes with the text of the file.
func (f File) sum() string {
	text := f.Text
	if f.Problem != nil {
		text = f.Problem.Error()
	}
	sum := sha256.Sum256([]byte(f.Path + "\x00" + text))
	return hex.EncodeToString(sum[:8])
}

// load returns the user's files, then those of the project: of the folders from the
// root of its repository to the working directory.
func (p place) load() []File {
	var out []File
	add := func(base, name, kind string) {
		if base != "" {
			out = p.add(out, base, name, kind, "session_start")
		}
	}
	add(p.home, "AGENTS.md", kindUser)
	add(p.userHome, ".claude/CLAUDE.md", kindUser)
	if p.noProject {
		return out
	}
	root := rootOf(p.dir)
	for _, dir := range between(root, p.dir) {
		out = p.folder(out, root, dir, "session_start")
	}
	return out
}

// nested returns the files of the folders below the working directory that hold the
// given files.
func (p place) nested(touched []string) []File {
	if p.noProject {
		return nil
	}
	var out []File
	root := rootOf(p.dir)
	var seen []string
	for _, file := range touched {
		if real, err := filepath.EvalSymlinks(file); err == nil {
			file = real
		}
		dirs := between(p.dir, filepath.Dir(file))
		for _, dir := range dirs[min(1, len(dirs)):] {
			if !slices.Contains(seen, dir) {
				seen = append(seen, dir)
				out = p.folder(out, root, dir, "nested_traversal")
			}
		}
	}
	return out
}

// rootOf returns the root of the repository that dir lies in, dir itself where it lies
// in none.
func rootOf(dir string) string {
	for at, n := dir, 0; n < maxLevels; n++ {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		up := filepath.Dir(at)
		if up == at {
			break
		}
		at = up
	}
	return dir
}

// between lists the folders from top to dir, both included; none if dir is not below
// top.
func between(top, dir string) []string {
	rel, err := filepath.Rel(top, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	out := []string{top}
	if rel == "." {
		return out
	}
	at := top
	for _, part := range strings.Split(rel, string(filepath.Separator)) {
		at = filepath.Join(at, part)
		out = append(out, at)
	}
	return out[:min(len(out), maxLevels)]
}

func (p place) folder(out []File, root, dir, reason string) []File {
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		return out
	}
	for _, name := range names {
		kind := kindProject
		if strings.HasSuffix(name, ".local.md") {
			kind = kindLocal
		}
		out = p.add(out, root, path.Join(filepath.ToSlash(rel), name), kind, reason)
	}
	return out
}

// add reads a file under a folder that it must not lead out of. One whose text is
// there already, such as a CLAUDE.md that is a link to AGENTS.md, is left out.
func (p place) add(out []File, base, name, kind, reason string) []File {
	root, err := os.OpenRoot(base)
	if err != nil {
		return out
	}
	defer root.Close()
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return out
	}
	r := reader{place: p, root: root, base: base}
	f := File{Path: filepath.Join(base, filepath.FromSlash(name)), Kind: kind, reason: reason}
	text, err := r.read(name)
	if err != nil {
		if info, missing := root.Lstat(filepath.FromSlash(name)); missing == nil && err != errHidden && info.Mode()&fs.ModeSymlink == 0 {
			f.Problem = err
			out = append(out, f)
		}
		return out
	}
	r.seen = []string{r.real(name)}
	f.Text = r.withImports(name, text, 0)
	f.imports = r.imports
	if strings.TrimSpace(f.Text) == "" || slices.ContainsFunc(out, func(o File) bool {
		return o.Text == f.Text || slices.Contains(o.imports, f.Path)
	}) {
		return out
	}
	return append(out, f)
}

// A reader reads a file with its imports.
type reader struct {
	place   place
	root    *os.Root
	base    string   // of root, free of symlinks
	seen    []string // real paths, so that files that import each other are read once
	imports []string
	size    int
}

// real is the path of a file without symlinks, as far as it exists.
func (r *reader) real(name string) string {
	abs := filepath.Join(r.base, filepath.FromSlash(name))
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	return abs
}

// errHidden is the error for a file that must not be read. Nothing tells of such a file.
var errHidden = errors.New("the file must not be read")

// read reads a file, cut where it is too long.
func (r *reader) read(name string) (string, error) {
	real := r.real(name)
	if r.place.hides != nil && (r.place.hides(real) || r.place.hides(filepath.Join(r.base, filepath.FromSlash(name)))) {
		return "", errHidden
	}
	data, whole, err := plainfile.Read(r.root, name, maxFile)
	if err != nil {
		return "", err
	}
	content := text.Clean(strings.ToValidUTF8(string(data), "\uFFFD"))
	if !whole {
		content += fmt.Sprintf("\n[cut off after %d KB]", maxFile>>10)
	}
	return content, nil
}

// withImports returns a text with the files that it imports after it.
func (r *reader) withImports(name, text string, depth int) string {
	r.size += len(text)
	var b strings.Builder
	b.WriteString(strings.TrimSpace(text))
	for _, word := range importsOf(text) {
		target, err := r.target(name, word)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				fmt.Fprintf(&b, "\n\n[@%s is not included: %v]", word, err)
			}
			continue
		}
		real := r.real(target)
		if slices.Contains(r.seen, real) {
			continue
		}
		switch {
		case depth+1 > maxDepth || len(r.imports) >= maxImports || r.size > maxAll:
			fmt.Fprintf(&b, "\n\n[@%s is not included: there are too many imports]", word)
			return b.String()
		}
		r.seen = append(r.seen, real)
		more, err := r.read(target)
		if err != nil {
			fmt.Fprintf(&b, "\n\n[@%s is not included: it cannot be read]", word)
			continue
		}
		r.imports = append(r.imports, real)
		fmt.Fprintf(&b, "\n\n[from %s, by @%s]\n%s", real, word, r.withImports(target, more, depth+1))
	}
	return b.String()
}

// target finds the file that a word imports, by its slash path in the root. A word that
// names no file imports nothing.
func (r *reader) target(from, word string) (string, error) {
	to := filepath.FromSlash(word)
	switch {
	case strings.HasPrefix(word, "~/"):
		if r.place.userHome == "" {
			return "", fs.ErrNotExist
		}
		to = filepath.Join(r.place.userHome, to[2:])
	case !filepath.IsAbs(to):
		to = filepath.Join(r.base, filepath.FromSlash(path.Dir(from)), to)
	}
	info, err := os.Stat(to)
	if err != nil || !info.Mode().IsRegular() {
		return "", fs.ErrNotExist
	}
	if real, err := filepath.EvalSymlinks(to); err == nil {
		to = real
	}
	rel, err := filepath.Rel(r.base, to)
	if err != nil || !filepath.IsLocal(rel) {
		return "", errors.New("it lies outside of " + r.base)
	}
	return filepath.ToSlash(rel), nil
}

// importsOf lists the words after @ that may be paths, outside of code.
func importsOf(text string) []string {
	var out []string
	fence := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if mark := fenceOf(trimmed); mark != "" {
			if fence == "" {
				fence = mark
			} else if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
			continue
		}
		if fence != "" {
			continue
		}
		for i, part := range strings.Split(line, "`") {
			if i%2 == 1 {
				continue
			}
			for _, word := range strings.Fields(part) {
				name, ok := strings.CutPrefix(strings.TrimLeft(word, "(["), "@")
				name = strings.TrimRight(name, ".,;:!?)]")
				if ok && name != "" && len(name) < 300 && !strings.ContainsAny(name, "@*?\x00") && !slices.Contains(out, name) && len(out) < 2*maxImports {
					out = append(out, name)
				}
			}
		}
	}
	return out
}

func fenceOf(line string) string {
	for _, mark := range []string{"```", "~~~"} {
		if strings.HasPrefix(line, mark) {
			return mark
		}
	}
	return ""
}
