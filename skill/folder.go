package skill

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/front"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/internal/text"
)

const markdown = ".md"

// Bounds of a folder of skills.
const (
	maxDepth   = 3     // folders below the one with skills
	maxSkills  = 500   // of a folder
	maxEntries = 10000 // files and folders that are looked at
)

// A Folder holds skills: folders with a SKILL.md, up to three levels below it.
type Folder struct {
	Path string
	From string // for people; "" is Path
	// Within, unless empty, is a folder that Path must not lead out of by symlinks.
	Within string
	// Pinned: the files must be as they were when they were loaded, or the skill does
	// not run. Otherwise a file that has changed counts as it is.
	Pinned bool
	// Files: each Markdown file in it is its own skill, named after the file, like commands
	// of plugins.
	Files bool
	// Prefix, unless empty, makes "PREFIX:NAME" another name of each skill.
	Prefix string
}

// Folders returns the folders in which skills are found, of the user below home, then of
// the project. Those named "commands" hold skills of one file each. A later folder overrides an
// earlier one. Empty arguments leave theirs out.
func Folders(home, project string) []Folder {
	var out []Folder
	add := func(base, name string, pinned bool) {
		if base == "" {
			return
		}
		f := Folder{Path: filepath.Join(base, filepath.FromSlash(name)), Pinned: pinned, Files: path.Base(name) == "commands"}
		if pinned {
			f.Within = base
		}
		out = append(out, f)
	}
	for _, name := range []string{".claude/commands", ".config/agents/skills", ".agents/skills", ".claude/skills"} {
		add(home, name, false)
	}
	for _, name := range []string{".claude/commands", ".openagent/commands", ".agents/skills", ".claude/skills", ".openagent/skills"} {
		add(project, name, true)
	}
	return out
}

// Found is the content of a folder.
type Found struct {
	Dir      string   // free of symlinks; "" if there is no such folder
	Skills   []*Skill // by name
	Problems []error  // skills that are left out, and other mistakes
	// Sum, of a pinned folder, stands for the contents of all SKILL.md files.
	Sum string
}

// A file is where a skill comes from.
type file struct {
	folder Folder
	dir    string // of the folder, free of symlinks
	name   string // of the SKILL.md, from there
	path   string
	sum    string // of a pinned one
}

// Load looks for the skills of a folder. It reads their front matter; in a pinned folder it
// reads each SKILL.md whole, to recognise changes. A mistake in one skill is reported and
// spoils no other.
func (f Folder) Load() Found {
	var out Found
	root, dir, err := f.open()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return out
	}
	if err != nil {
		out.Problems = []error{&front.Problem{File: f.Path, Text: err.Error(), Skipped: true}}
		return out
	}
	defer root.Close()
	out.Dir = dir
	w := walk{folder: f, root: root, dir: dir, found: &out, sum: sha256.New()}
	w.look(".", 0)
	if f.Pinned {
		out.Sum = hex.EncodeToString(w.sum.Sum(nil))
	}
	slices.SortStableFunc(out.Skills, func(a, b *Skill) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// open opens the folder and finds its path without symlinks.
func (f Folder) open() (*os.Root, string, error) {
	dir, err := filepath.Abs(f.Path)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, "", err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, "", cmp.Or(err, fs.ErrInvalid)
	}
	if f.Within != "" {
		within, err := filepath.EvalSymlinks(f.Within)
		if err == nil {
			within, err = filepath.Abs(within)
		}
		if err != nil {
			return nil, "", err
		}
		if rel, err := filepath.Rel(within, dir); err != nil || !filepath.IsLocal(rel) {
			return nil, "", fmt.Errorf("it leads out of %s through a symlink", f.Within)
		}
	}
	root, err := os.OpenRoot(dir)
	return root, dir, err
}

// A walk goes through a folder.
type walk struct {
	folder  Folder
	root    *os.Root
	dir     string
	found   *Found
	entries int
	full    bool
	sum     hash.Hash // of all files
}

func (w *walk) problem(name string, line int, skipped bool, format string, args ...any) {
	w.found.Problems = append(w.found.Problems, &front.Problem{File: filepath.Join(w.dir, filepath.FromSlash(name)), Line: line, Text: fmt.Sprintf(format, args...), Skipped: skipped})
}

// look looks for skills in a folder, by its slash path in the root.
func (w *walk) look(dir string, depth int) {
	for _, e := range w.list(dir) {
		if w.full || strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" || !e.IsDir() && !w.folder.Files && e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		name := path.Join(dir, e.Name())
		info, err := w.root.Stat(name)
		if err != nil {
			if e.Type()&fs.ModeSymlink != 0 {
				w.problem(name, 0, true, "it is a symlink that leads out of the folder, or nowhere")
			}
			continue
		}
		switch {
		case !info.IsDir():
			if w.folder.Files && strings.HasSuffix(name, markdown) {
				w.file(name)
			}
		case w.skill(name):
		case depth+1 < maxDepth && e.IsDir():
			w.look(name, depth+1)
		}
	}
}

// list returns the entries of a folder, by name, as far as the bounds allow.
func (w *walk) list(dir string) []fs.DirEntry {
	f, err := plainfile.OpenFolderIn(w.root, dir)
	if err != nil {
		w.problem(dir, 0, true, "%v", err)
		return nil
	}
	defer f.Close()
	entries, err := f.ReadDir(maxEntries - w.entries + 1)
	if w.entries += len(entries); w.entries > maxEntries && !w.full {
		w.full = true
		w.problem(dir, 0, true, "there are more than %d files and folders; the others are not looked at", maxEntries)
		return nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		w.problem(dir, 0, true, "%v", err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries
}

// skill takes in the skill of a folder, and reports whether it is one.
func (w *walk) skill(dir string) bool {
	name := path.Join(dir, skillscope.FileName)
	if _, err := w.root.Lstat(name); err != nil {
		return false
	}
	w.file(name)
	return true
}

// file takes in the file of a skill.
func (w *walk) file(name string) {
	if len(w.found.Skills) >= maxSkills {
		w.full = true
		w.problem(".", 0, true, "there are more than %d skills; the others are left out", maxSkills)
		return
	}
	limit := maxFront + 1<<10 // the marks, and the first words of the text
	if w.folder.Pinned {
		limit = maxFile
	}
	data, whole, err := plainfile.Read(w.root, name, limit)
	if err != nil {
		w.problem(name, 0, true, "%v", err)
		return
	}
	if w.folder.Pinned {
		if !whole {
			w.problem(name, 0, true, "it has more than %d KB", maxFile>>10)
			return
		}
		fmt.Fprintf(w.sum, "%q %x\n", name, sha256.Sum256(data))
	}
	of := &file{folder: w.folder, dir: w.dir, name: name, path: filepath.Join(w.dir, filepath.FromSlash(name))}
	if w.folder.Pinned {
		of.sum = sumOf(data)
	}
	s, _, notes, err := of.parse(data, whole)
	for _, n := range notes {
		w.problem(name, n.Line, false, "%s", n.Text)
	}
	if err != nil {
		var f *front.Fault
		if !errors.As(err, &f) {
			f = &front.Fault{Text: err.Error()}
		}
		w.problem(name, f.Line, true, "%s", f.Text)
		return
	}
	if i := slices.IndexFunc(w.found.Skills, func(o *Skill) bool { return strings.EqualFold(o.Name, s.Name) }); i >= 0 {
		w.problem(name, 0, true, "the name %s is that of %s already", s.Name, w.found.Skills[i].file.path)
		return
	}
	w.found.Skills = append(w.found.Skills, s)
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// parse makes the skill of a file. The folder's name and the first paragraph replace
// missing front matter.
func (of *file) parse(data []byte, whole bool) (s *Skill, body string, notes []*front.Fault, err error) {
	s = &Skill{From: cmp.Or(of.folder.From, of.folder.Path), file: of}
	if path.Base(of.name) == skillscope.FileName {
		s.Dir = filepath.Dir(of.path)
	}
	matter, text, err := front.Split(data, whole, maxFront)
	if err != nil {
		return nil, "", nil, err
	}
	if notes, err = understand(matter, s); err != nil {
		return nil, "", notes, err
	}
	if s.Name == "" {
		s.Name = of.usualName()
		if err := checkName(s.Name); err != nil {
			return nil, "", notes, &front.Fault{Line: 1, Text: "the name of the file or folder cannot be the skill's: " + err.Error()}
		}
	}
	if of.folder.Prefix != "" {
		if alias := of.folder.Prefix + ":" + s.Name; checkName(alias) == nil {
			s.Aliases = append(s.Aliases, alias)
		}
	}
	body = string(text)
	if s.Description == "" {
		if len(matter) > 0 {
			notes = append(notes, &front.Fault{Line: 1, Text: "description is missing: models do not know what the skill is for"})
		}
		s.Description = firstParagraph(body)
	}
	return s, body, notes, nil
}

// usualName is the name of a skill whose file says none.
func (of *file) usualName() string {
	if base := path.Base(of.name); base != skillscope.FileName {
		return strings.TrimSuffix(base, markdown)
	}
	return path.Base(path.Dir(of.name))
}

// firstParagraph is the first text of Markdown that is not a heading.
func firstParagraph(body string) string {
	var words []string
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if line == "" && words != nil {
			break
		}
		if line != "" && !strings.HasPrefix(line, "#") {
			words = append(words, line)
		}
	}
	return text.Runes(text.OneLine(text.Clean(strings.Join(words, " "))), 200)
}

// load reads the file again: the skill as it is now, with its text.
func (of *file) load() (*Skill, string, error) {
	root, err := os.OpenRoot(of.dir)
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	data, whole, err := plainfile.Read(root, of.name, maxFile)
	if err != nil {
		return nil, "", err
	}
	if !whole {
		return nil, "", fmt.Errorf("%s has more than %d KB", of.path, maxFile>>10)
	}
	if of.sum != "" && sumOf(data) != of.sum {
		return nil, "", fmt.Errorf("%s has changed since it was trusted; the next start of the program asks about it again", of.path)
	}
	s, body, _, err := of.parse(data, true)
	if err != nil {
		var f *front.Fault
		if errors.As(err, &f) {
			err = &front.Problem{File: of.path, Line: f.Line, Text: f.Text}
		}
		return nil, "", err
	}
	return s, body, nil
}
