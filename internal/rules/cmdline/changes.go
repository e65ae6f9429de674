package cmdline

import (
	"slices"

	"github.com/openagent-go/agent/internal/rules/effects"
	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/shellscan"
	"github.com/openagent-go/agent/internal/rules/shellword"
)

// Which files a command line changes, for Edit rules that forbid. A file that a command is
// only told to read or to run is not changed by that.

// Changes reports whether the line is known to change a file that a pattern concerns.
func (s *Line) Changes(pattern *paths.Pattern) bool {
	for _, r := range s.Redirects {
		if r.Write && s.named(pattern, r.In, r.Word) {
			return true
		}
	}
	for i := range s.List {
		c := &s.List[i]
		changed, _ := s.splitWords(c)
		if shellword.Any(changed, func(w shellword.Word) bool { return s.named(pattern, c.In, w) }) ||
			shellword.Any(c.Outputs, func(w shellword.Word) bool { return s.named(pattern, c.In, w) }) {
			return true
		}
	}
	return false
}

// splitWords returns the words of a command that name files which it changes, and those
// that name files which it is not known to leave alone. Both are empty for a command that
// changes no file.
func (s *Line) splitWords(c *shellscan.Command) (changed, others []shellword.Word) {
	if !opens(c, true) || s.CommandReads(c, false) == "" {
		return nil, nil
	}
	return effects.ChangedWords(c.Name, c.Words)
}

// MayChange returns the command that may change a file which it names and a pattern
// concerns, although it is not known to; "" for none. Files below held, absolute paths
// without links, cannot be changed.
func (s *Line) MayChange(pattern *paths.Pattern, held []string) string {
	for i := range s.List {
		c := &s.List[i]
		_, others := s.splitWords(c)
		for _, w := range others {
			if s.namedElsewhere(pattern, c.In, w, held) {
				return c.Name
			}
		}
	}
	return ""
}

// namedElsewhere is [Line.named] for files that are not below one of the held paths.
func (s *Line) namedElsewhere(pattern *paths.Pattern, in []shellscan.Workdir, w shellword.Word, held []string) bool {
	if len(held) == 0 {
		return s.named(pattern, in, w)
	}
	words, _ := w.Meanings()
	for _, m := range words {
		for _, v := range shellword.PathForms(m) {
			files, open, _ := s.reach(in, v)
			if slices.ContainsFunc(files, func(f string) bool { return s.DeniedBy(pattern, f) && !Held(f, held) }) ||
				slices.ContainsFunc(open, func(p string) bool { return s.MayDeny(pattern, p) }) {
				return true
			}
		}
	}
	return false
}

// Held reports whether a file is one of the held paths, or below one.
func Held(file string, held []string) bool {
	real := paths.RealPath(file)
	return real != "" && slices.ContainsFunc(held, func(h string) bool { return paths.Below(h, real) })
}
