package cmdline

import (
	"slices"

	"github.com/openagent-go/agent/internal/rules/effects"
	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/shellscan"
	"github.com/openagent-go/agent/internal/rules/shellword"
)

// Whether a line opens files that the program keeps for itself.

// OpensAmong returns one of the kept paths that the line is known to open, "" for none.
func (s *Line) OpensAmong(kept []string) string {
	for _, r := range s.Redirects {
		if path := s.namesAmong(kept, r.In, r.Word); path != "" {
			return path
		}
	}
	for i := range s.List {
		c := &s.List[i]
		if !opens(c, false) {
			continue
		}
		for _, w := range c.Words {
			if path := s.namesAmong(kept, c.In, w); path != "" {
				return path
			}
		}
	}
	return ""
}

// WalksAmong returns one of the kept paths that lies in a folder which a command of the
// line copies, searches or links to as a whole; "" for none.
func (s *Line) WalksAmong(kept []string) string {
	for i := range s.List {
		c := &s.List[i]
		if _, walks := effects.WalkerOf(c.Name, c.Args); !walks {
			continue
		}
		for _, path := range kept {
			if paths.Exists(path) && s.walksOnto(c, path) {
				return path
			}
		}
	}
	return ""
}

// walksOnto reports whether a folder that the command names, or runs in, is above a
// path or leads there.
func (s *Line) walksOnto(c *shellscan.Command, path string) bool {
	w, _ := effects.WalkerOf(c.Name, c.Args)
	named := false
	for _, x := range effects.Operands(c.Name, c.Words) {
		words, _ := x.Meanings()
		for _, m := range words {
			for _, v := range shellword.PathForms(m) {
				files, _, _ := s.reach(c.In, v)
				for _, f := range files {
					if s.Above(f, path) {
						return true
					}
					named = named || paths.Exists(f)
				}
			}
		}
	}
	if !w.Here || named {
		return false
	}
	dirs, _ := s.dirs(c.In)
	return slices.ContainsFunc(dirs, func(d string) bool { return s.Above(d, path) })
}

func (s *Line) namesAmong(kept []string, in []shellscan.Workdir, w shellword.Word) string {
	words, _ := w.Meanings()
	for _, m := range words {
		for _, v := range shellword.PathForms(m) {
			files, _, _ := s.reach(in, v)
			for _, f := range files {
				if path := s.Among(kept, f); path != "" {
					return path
				}
			}
		}
	}
	return ""
}
