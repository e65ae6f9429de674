package cmdline

import (
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/rules/effects"
	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/shellscan"
	"github.com/openagent-go/agent/internal/rules/shellword"
)

// Folders that hold files which a rule forbids.

// maxLooks bounds the names in folders that are looked at for one command line.
const maxLooks = 20000

// walksOver reports whether the command takes a folder that holds, or may hold,
// a file that a pattern is about; with edit, one that it may change.
func (s *Line) walksOver(c *shellscan.Command, pattern *paths.Pattern, edit bool) bool {
	w, ok := effects.WalkerOf(c.Name, c.Args)
	if !ok {
		return false
	}
	words := effects.Operands(c.Name, c.Words)
	if edit && effects.Copies(c.Name, c.Words) {
		words, _ = s.splitWords(c)
	}
	named := false
	for _, x := range words {
		for _, v := range shellword.PathForms(x) {
			files, _, _ := s.reach(c.In, v)
			for _, f := range files {
				if s.holds(pattern, f) {
					return true
				}
				named = named || paths.Exists(f)
			}
		}
	}
	if !w.Here || named {
		return false
	}
	dirs, ok := s.dirs(c.In)
	return !ok || slices.ContainsFunc(dirs, func(d string) bool { return s.holds(pattern, d) })
}

// descends reports whether "**" in a word may lead to a file that a pattern is
// about: shells may be told that it goes into folders.
func (s *Line) descends(pattern *paths.Pattern, in []shellscan.Workdir, w shellword.Word) bool {
	front, _, deep := strings.Cut(w.Glob, "**")
	if !deep {
		return false
	}
	dir, _ := paths.Unescape(front[:strings.LastIndexByte(front, '/')+1])
	start := shellword.Word{Text: dir, Home: w.Home, Rest: dir}
	if paths.HasMagic(front) {
		return true
	}
	files, ok := s.Files(in, start)
	return !ok || slices.ContainsFunc(files, func(f string) bool { return s.holds(pattern, f) })
}

// holds reports whether a folder holds a file that a deny or ask pattern is
// about, or so much that this cannot be told.
func (s *Line) holds(pattern *paths.Pattern, dir string) bool {
	denials := s.Denials(pattern)
	todo := slices.Clone(s.Forms(dir))
	seen := map[string]bool{}
	for len(todo) > 0 {
		d := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[d] || !pattern.MayBeOn(d) || !paths.MayHold(denials, d) {
			continue
		}
		seen[d] = true
		entries, ok := s.list(d)
		if !ok {
			return true
		}
		for _, e := range entries {
			p := strings.TrimSuffix(d, "/") + "/" + e.Name()
			segs := paths.Segments(p)
			if paths.FoldCase {
				segs = paths.Lower(segs)
			}
			if slices.ContainsFunc(denials, func(x paths.Denial) bool { return x.Covers(segs) }) {
				return true
			}
			switch {
			case e.IsDir():
				todo = append(todo, p)
			case e.Type()&fs.ModeSymlink != 0:
				if s.DeniedBy(pattern, p) {
					return true
				}
				todo = append(todo, s.Forms(p)...)
			}
		}
	}
	return false
}

// list returns the entries of a folder, none for other files; false if there are too many.
func (s *Line) list(dir string) ([]fs.DirEntry, bool) {
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
