package permission

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/plainfile"
)

// A workdir is a folder, relative to where the line starts: the arguments of cd,
// one per line. An argument that begins with "~" is in the home folder.
// lostPlace is a folder that only the running shell knows.
type workdir string

const lostPlace workdir = Unknown

func (p workdir) cd(w word) workdir {
	to, ok := w.target()
	if !ok || p == lostPlace && !strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "~") || strings.Contains(to, "\n") {
		return lostPlace
	}
	if strings.HasPrefix(to, "/") || strings.HasPrefix(to, "~") || p == "" {
		return workdir(to)
	}
	return p + "\n" + workdir(to)
}

// union merges two sets of places.
func union(a, b []workdir) []workdir {
	switch { // sets of one are in order
	case len(a) == 1 && (len(b) == 0 || len(b) == 1 && a[0] == b[0]):
		return a[:1:1]
	case len(a) == 0 && len(b) == 1:
		return b[:1:1]
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > maxDirs {
		return []workdir{lostPlace}
	}
	return all
}

// dirs returns the folders, both forms of each, that the places may be. Words that
// follow one another are mostly in the same places.
func (g *pathContext) dirs(in []workdir) ([]string, bool) {
	if g.in == nil || len(in) != len(g.in) || len(in) == 0 || &in[0] != &g.in[0] {
		g.inDirs, g.inOK = g.findDirs(in)
		g.in = in
	}
	return g.inDirs, g.inOK
}

func (g *pathContext) findDirs(in []workdir) ([]string, bool) {
	if !filepath.IsAbs(g.dir) {
		return nil, false
	}
	var all []string
	for _, p := range in {
		if p == lostPlace {
			return nil, false
		}
		at := []string{g.dir}
		for step := range strings.SplitSeq(string(p), "\n") {
			if step == "" {
				continue
			}
			var next []string
			for _, d := range at {
				next = append(next, g.forms(join(d, step))...)
			}
			slices.Sort(next)
			if at = slices.Compact(next); len(at) == 0 || len(at) > maxDirs {
				return nil, false
			}
		}
		all = append(all, at...)
	}
	slices.Sort(all)
	return slices.Compact(all), true
}

// join returns the path of a target seen from dir; it is not clean, since ".."
// after a link is not what it seems.
func join(dir, target string) string {
	switch {
	case strings.HasPrefix(target, "~"):
		return home() + target[1:]
	case strings.HasPrefix(target, "/"), filepath.IsAbs(target):
		if strings.Contains(target, "/proc/") {
			return ofProcess(dir, target)
		}
		return target
	}
	if rest, ok := strings.CutPrefix(target, "./"); ok && rest != "" && rest[0] != '/' {
		target = rest
	}
	return dir + string(filepath.Separator) + target
}

var ownProcess = regexp.MustCompile(`^/proc/(self|thread-self)(/task/[^/]+)?/(cwd|root)$`)

// ofProcess returns the path for one that leads through the links of the process that
// opens it: to the folder that it runs in, or to the root.
func ofProcess(dir, target string) string {
	for i := 1; i <= len(target); i++ {
		if i < len(target) && target[i] != '/' {
			continue
		}
		m := ownProcess.FindStringSubmatch(path.Clean(target[:i]))
		switch {
		case m == nil:
		case m[3] == "root":
			return ofProcess(dir, "/"+strings.TrimLeft(target[i:], "/"))
		case dir != "":
			return strings.TrimSuffix(dir+target[i:], "/")
		}
	}
	return target
}

// files returns the paths that a word may name; false if that is not known.
func (g *pathContext) files(in []workdir, w word) ([]string, bool) {
	dirs, ok := g.dirs(in)
	if !ok {
		if to, known := w.target(); known && (strings.HasPrefix(to, "/") || strings.HasPrefix(to, "~")) {
			return []string{join("", to)}, true
		}
		return nil, false
	}
	if w.glob == "" {
		to, ok := w.target()
		if !ok {
			return nil, false
		}
		all := make([]string, len(dirs))
		for i, d := range dirs {
			all[i] = join(d, to)
		}
		return all, true
	}
	words, ok := g.expand(dirs, []word{w})
	if !ok {
		return nil, false
	}
	all := make([]string, 0, len(words)*len(dirs))
	for _, x := range words {
		to, ok := x.target()
		if !ok {
			return nil, false
		}
		for _, d := range dirs {
			all = append(all, join(d, to))
		}
	}
	return all, true
}

// within reports whether all that a word may name is in the roots.
func (g *pathContext) within(in []workdir, w word) bool {
	if w.text == "-" || slices.Contains(streams, w.text) {
		return true
	}
	files, ok := g.files(in, w)
	return ok && !slices.ContainsFunc(files, func(f string) bool { return !g.inside(f) })
}

const maxNames = 2000 // names looked at for the file patterns of a word

// expand replaces words that are file patterns by the names of the files, seen
// from each folder. It gives up on patterns that it does not expand as a shell
// would; names that begin with a dot are included, as the shell may be set to.
func (g *pathContext) expand(dirs []string, words []word) ([]word, bool) {
	if !slices.ContainsFunc(words, func(w word) bool { return w.glob != "" }) {
		return words, true
	}
	var out []word
	for _, w := range words {
		if w.glob == "" {
			out = append(out, w)
			continue
		}
		if w.unknown() && !w.home || strings.Contains(w.glob, "**") || strings.Contains(strings.ReplaceAll(w.glob, `\[`, ""), "[") || strings.Contains(w.rest, Unknown) {
			return nil, false
		}
		found := false
		for _, d := range dirs {
			names, ok := globNames(d, w)
			if !ok {
				return nil, false
			}
			found = found || len(names) > 0
			for _, n := range names {
				out = append(out, word{text: n})
			}
		}
		if !found {
			out = append(out, word{text: w.text, home: w.home, rest: w.rest})
		}
	}
	return out, true
}

// globNames lists the files under dir that a word matches, as the shell names them.
func globNames(dir string, w word) ([]string, bool) {
	pattern, base, names := w.glob, dir+string(filepath.Separator), []string{""}
	switch {
	case w.home:
		base, names = "", []string{home() + "/"}
	case strings.HasPrefix(pattern, "/"):
		base, names = "", []string{"/"}
	}
	budget, open := maxNames, false
	for step := range strings.SplitSeq(strings.TrimLeft(pattern, "/"), "/") {
		text, _ := unescape(step)
		var next []string
		for _, n := range names {
			if !hasMagic(step) {
				if !open || text == "" || exists(base+n+text) {
					next = append(next, n+text+"/")
				}
				continue
			}
			entries, ok := readNames(base+n, budget)
			if strings.HasPrefix(text, ".") {
				entries = append(entries, ".", "..") // so do some shells
			}
			if budget -= len(entries); !ok || budget < 0 {
				return nil, false
			}
			for _, e := range entries {
				if m, err := path.Match(step, e); err != nil {
					return nil, false
				} else if m {
					next = append(next, n+e+"/")
				}
			}
		}
		names, open = next, open || hasMagic(step)
	}
	for i, n := range names {
		if n = strings.TrimSuffix(n, "/"); strings.HasPrefix(n, "~") {
			n = "./" + n // not the home folder
		}
		names[i] = n
	}
	return names, true
}

// readNames lists at most limit names; a folder that cannot be read has none.
func readNames(dir string, limit int) ([]string, bool) {
	f, err := plainfile.OpenFolder(dir)
	if err != nil {
		return nil, true
	}
	defer f.Close()
	names, _ := f.Readdirnames(limit + 1)
	return names, len(names) <= limit
}
