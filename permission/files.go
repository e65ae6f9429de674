package permission

import (
	"os"
	"slices"
)

// RealPath returns where an absolute path leads, the way the system resolves it:
// ".." is the parent of what a link leads to, and what comes after the last thing
// that exists is kept. It is "" for a loop of links.
func RealPath(path string) string { return realPath(path, os.Readlink) }

// Files returns the files that the command lines of the request are known to name,
// absolute and not clean: what they redirect into, and arguments of commands that
// open files with what they read from. all is false if they may name others.
func (r Request) Files() (read, written []string, all bool) {
	c := newCase(r)
	all = true
	for i, a := range r.Access {
		if a.Kind == RunCommand {
			s := c.sites[i]
			all = s.opened(&read, &written) && all
		}
	}
	for _, list := range []*[]string{&read, &written} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return read, written, all
}

func (s *shellLine) opened(read, written *[]string) (all bool) {
	all = s.Unclear == ""
	note := func(to *[]string, in []workdir, w word) {
		words, ok := w.meanings()
		all = all && ok
		for _, m := range words {
			files, open, ok := s.reach(in, m)
			*to = append(*to, files...)
			all = all && ok && len(open) == 0
		}
	}
	for _, r := range s.Redirects {
		if r.Write {
			note(written, r.in, r.word)
		} else {
			note(read, r.in, r.word)
		}
	}
	for i := range s.List {
		c := &s.List[i]
		if !c.opens(false) {
			continue
		}
		all = all && !c.takesList()
		for _, w := range c.words {
			words, ok := w.meanings()
			all = all && ok
			for _, m := range words {
				for _, v := range pathForms(m) {
					note(read, c.in, v)
				}
			}
		}
	}
	return all
}
