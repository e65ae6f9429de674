package rules

import (
	"slices"
)

// Files returns the files that the command lines of the request are known to name,
// absolute and not clean: what they redirect into, and arguments of commands that
// open files with what they read from. all is false if they may name others.
func (r Request) Files() (read, written []string, all bool) {
	c := newCase(&r)
	all = true
	for i, a := range r.Access {
		if a.Kind == RunCommand {
			s := c.lines[i]
			all = s.Opened(&read, &written) && all
		}
	}
	for _, list := range []*[]string{&read, &written} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return read, written, all
}
