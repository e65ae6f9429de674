package permission

import (
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/plainfile"
)

// Folders that hold files which a rule forbids.

// maxLooks bounds the names in folders that are looked at for one command line.
const maxLooks = 20000

// A walker is a program that takes a folder for all that is in it.
type walker struct {
	letters string   // one-letter flags that make it do so; without any flags it always does
	long    []string // long flags
	here    bool     // without arguments it takes the folder that it runs in
}

var (
	grepWalks  = walker{letters: "rRd", long: []string{"recursive", "dereference-recursive", "directories"}, here: true}
	modeWalks  = walker{letters: "R", long: []string{"recursive"}}
	alwaysHere = walker{here: true}
)

var walkers = map[string]walker{
	"tar": {}, "bsdtar": {}, "gtar": {}, "7z": {}, "7za": {}, "7zz": {}, "7zr": {}, "ditto": {}, "mv": {}, "ln": {}, "diff": {},
	"rg": alwaysHere, "ag": alwaysHere, "ack": alwaysHere, "ugrep": alwaysHere,
	"grep": grepWalks, "egrep": grepWalks, "fgrep": grepWalks, "zgrep": grepWalks,
	"chmod": modeWalks, "chown": modeWalks, "chgrp": modeWalks,
	"cp":    {letters: "rRa", long: []string{"recursive", "archive"}},
	"rsync": {letters: "ra", long: []string{"recursive", "archive"}},
	"gzip":  {letters: "r", long: []string{"recursive"}},
	"gofmt": {letters: "w"}, "goimports": {letters: "w"}, "gofumpt": {letters: "w"},
	"zip":  {letters: "rR", long: []string{"recurse-paths", "recurse-patterns"}},
	"scp":  {letters: "r"},
	"rm":   {letters: "rR", long: []string{"recursive"}},
	"find": {long: []string{"delete", "exec", "execdir", "ok", "okdir"}, here: true},
}

// gitWalkers are the git commands that take a folder for all that is in it.
var gitWalkers = map[string]walker{
	"grep": alwaysHere, "archive": alwaysHere, "clean": alwaysHere, "--no-index": {}, "checkout": {}, "restore": {}, "rm": {}, "mv": {},
}

func (c *Command) walker() (walker, bool) {
	if c.Name != "git" {
		w, ok := walkers[c.Name]
		return w, ok && w.walks(c)
	}
	var found walker
	ok := false
	for _, a := range c.Args {
		if w, is := gitWalkers[a]; is {
			found.here, ok = found.here || w.here, true
		}
	}
	return found, ok
}

// walksOver reports whether the command takes a folder that holds, or may hold,
// a file that a pattern is about.
func (s *shellLine) walksOver(c *Command, pattern *pathPattern) bool {
	w, ok := c.walker()
	if !ok {
		return false
	}
	named := false
	for _, x := range c.operands() {
		for _, v := range pathForms(x) {
			files, _, _ := s.reach(c.in, v)
			for _, f := range files {
				if s.holds(pattern, f) {
					return true
				}
				named = named || exists(f)
			}
		}
	}
	if !w.here || named {
		return false
	}
	dirs, ok := s.dirs(c.in)
	return !ok || slices.ContainsFunc(dirs, func(d string) bool { return s.holds(pattern, d) })
}

// operands are the words of the command that may name files.
func (c *Command) operands() []word {
	if r := readers[c.Name]; r.operands == "pattern" {
		if files, ok := r.parse(c.Name, c.words); ok {
			return files
		}
	}
	return c.words
}

// walks reports whether the command, by its flags, goes into folders.
func (w walker) walks(c *Command) bool {
	if w.letters == "" && w.long == nil {
		return true
	}
	return slices.ContainsFunc(c.Args, func(a string) bool {
		name, isLong := strings.CutPrefix(a, "--")
		if isLong {
			name, _, _ = strings.Cut(name, "=")
			return name != "" && slices.ContainsFunc(w.long, func(l string) bool { return strings.HasPrefix(l, name) })
		}
		return strings.HasPrefix(a, "-") && (strings.ContainsAny(a, w.letters) || slices.Contains(w.long, a[1:]))
	})
}

// descends reports whether "**" in a word may lead to a file that a pattern is
// about: shells may be told that it goes into folders.
func (s *shellLine) descends(pattern *pathPattern, in []workdir, w word) bool {
	front, _, deep := strings.Cut(w.glob, "**")
	if !deep {
		return false
	}
	dir, _ := unescape(front[:strings.LastIndexByte(front, '/')+1])
	start := word{text: dir, home: w.home, rest: dir}
	if hasMagic(front) {
		return true
	}
	files, ok := s.files(in, start)
	return !ok || slices.ContainsFunc(files, func(f string) bool { return s.holds(pattern, f) })
}

// holds reports whether a folder holds a file that a deny or ask pattern is
// about, or so much that this cannot be told.
func (s *shellLine) holds(pattern *pathPattern, dir string) bool {
	denials := s.denials(pattern)
	todo := slices.Clone(s.forms(dir))
	seen := map[string]bool{}
	for len(todo) > 0 {
		d := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[d] || !mayHold(denials, d) {
			continue
		}
		seen[d] = true
		entries, ok := s.list(d)
		if !ok {
			return true
		}
		for _, e := range entries {
			p := strings.TrimSuffix(d, "/") + "/" + e.Name()
			segs := segments(p)
			if foldCase {
				segs = lower(segs)
			}
			if slices.ContainsFunc(denials, func(x denial) bool { return x.covers(segs) }) {
				return true
			}
			switch {
			case e.IsDir():
				todo = append(todo, p)
			case e.Type()&fs.ModeSymlink != 0:
				if s.deniedBy(pattern, p) {
					return true
				}
				todo = append(todo, s.forms(p)...)
			}
		}
	}
	return false
}

// mayHold reports whether anything below dir can be denied.
func mayHold(denials []denial, dir string) bool {
	var segs []string
	for _, x := range segments(dir) {
		segs = append(segs, escapeGlob(x))
	}
	if foldCase {
		segs = lower(segs)
	}
	segs = append(segs, "**")
	return slices.ContainsFunc(denials, func(d denial) bool { return d.mayCover(segs) })
}

// list returns what is in a folder, nothing for what is none; false if it is too much.
func (s *shellLine) list(dir string) ([]fs.DirEntry, bool) {
	s.looks--
	fi, err := os.Lstat(dir)
	if err != nil || !fi.IsDir() {
		return nil, s.looks >= 0
	}
	f, err := plainfile.OpenFolder(dir)
	if err != nil {
		return nil, s.looks >= 0
	}
	defer f.Close()
	if s.looks < 0 {
		return nil, false
	}
	entries, _ := f.ReadDir(s.looks + 1)
	s.looks -= len(entries)
	return entries, s.looks >= 0
}
