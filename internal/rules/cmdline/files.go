package cmdline

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/shellscan"
	"github.com/openagent-go/agent/internal/rules/shellword"
)

// Which files the words of a line name.

// dirs returns the folders, both forms of each, that the places may be. Words that
// follow one another are mostly in the same places.
func (s *Line) dirs(in []shellscan.Workdir) ([]string, bool) {
	if s.asked == nil || len(in) != len(s.asked) || len(in) == 0 || &in[0] != &s.asked[0] {
		s.found, s.placed = s.findDirs(in)
		s.asked = in
	}
	return s.found, s.placed
}

func (s *Line) findDirs(in []shellscan.Workdir) ([]string, bool) {
	if !filepath.IsAbs(s.Dir) {
		return nil, false
	}
	var all []string
	for _, p := range in {
		if p == shellscan.Lost {
			return nil, false
		}
		at := []string{s.Dir}
		for step := range strings.SplitSeq(string(p), "\n") {
			if step == "" {
				continue
			}
			var next []string
			for _, d := range at {
				next = append(next, s.Forms(join(d, step))...)
			}
			slices.Sort(next)
			if at = slices.Compact(next); len(at) == 0 || len(at) > shellscan.MaxDirs {
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
		return paths.Home() + target[1:]
	case strings.HasPrefix(target, "/"), filepath.IsAbs(target):
		if strings.Contains(target, "/proc/") {
			target = ofProcess(dir, target)
		}
		return paths.FromShell(target)
	case paths.OnDrive(target):
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

// Files returns the paths that a word may name; false if that is not known.
func (s *Line) Files(in []shellscan.Workdir, w shellword.Word) ([]string, bool) {
	dirs, ok := s.dirs(in)
	if !ok {
		if to, known := w.Target(); known && (strings.HasPrefix(to, "/") || strings.HasPrefix(to, "~")) {
			return []string{join("", to)}, true
		}
		return nil, false
	}
	if w.Glob == "" {
		to, ok := w.Target()
		if !ok {
			return nil, false
		}
		all := make([]string, len(dirs))
		for i, d := range dirs {
			all[i] = join(d, to)
		}
		return all, true
	}
	words, ok := expand(dirs, []shellword.Word{w})
	if !ok {
		return nil, false
	}
	all := make([]string, 0, len(words)*len(dirs))
	for _, x := range words {
		to, ok := x.Target()
		if !ok {
			return nil, false
		}
		for _, d := range dirs {
			all = append(all, join(d, to))
		}
	}
	return all, true
}

// Within reports whether all that a word may name is in the roots.
func (s *Line) Within(in []shellscan.Workdir, w shellword.Word) bool {
	if w.Text == "-" || paths.IsStream(w.Text) {
		return true
	}
	files, ok := s.Files(in, w)
	return ok && !slices.ContainsFunc(files, func(f string) bool { return !s.Inside(f) })
}

// expand replaces words that are file patterns by the names of the files, seen
// from each folder. It gives up on patterns that it does not expand as a shell
// would; names that begin with a dot are included, as the shell may be set to.
func expand(dirs []string, words []shellword.Word) ([]shellword.Word, bool) {
	if !shellword.Any(words, func(w shellword.Word) bool { return w.Glob != "" }) {
		return words, true
	}
	var out []shellword.Word
	for _, w := range words {
		if w.Glob == "" {
			out = append(out, w)
			continue
		}
		if w.Unknown() && !w.Home || strings.Contains(w.Glob, "**") || strings.Contains(strings.ReplaceAll(w.Glob, `\[`, ""), "[") || strings.Contains(w.Rest, shellword.Unknown) {
			return nil, false
		}
		found := false
		for _, d := range dirs {
			names, ok := paths.GlobNames(d, w.Glob, w.Home)
			if !ok {
				return nil, false
			}
			found = found || len(names) > 0
			for _, n := range names {
				out = append(out, shellword.Word{Text: n})
			}
		}
		if !found {
			out = append(out, shellword.Word{Text: w.Text, Home: w.Home, Rest: w.Rest})
		}
	}
	return out, true
}
