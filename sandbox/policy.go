package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// normal checks the paths of p, and drops those that say nothing.
func (p confinement) normal() (confinement, error) {
	for _, list := range []*[]string{&p.Write, &p.ReadOnly, &p.Hidden, &p.Read} {
		if *list == nil {
			continue
		}
		*list = slices.Clone(*list)
		slices.Sort(*list)
		*list = slices.Compact(*list)
		for _, name := range *list {
			if !filepath.IsAbs(name) || filepath.Clean(name) != name || strings.ContainsRune(name, 0) {
				return p, fmt.Errorf("the sandbox's path %q is not absolute and clean", name)
			}
		}
	}
	if slices.Contains(p.Hidden, "/") {
		return p, fmt.Errorf("the sandbox hides %q, where every program is; name in Read what may be read", "/")
	}
	if slices.Contains(p.Read, "/") || slices.Contains(p.Write, "/") {
		p.Read = nil
	}
	return p, nil
}

// state is the access of a policy to a file.
type state int

const (
	open state = iota // read and not written
	writes
	hides
)

// of returns the access to a file: that of the longest path that covers it.
func (p confinement) of(file string) state {
	longest, found := -1, open
	for _, l := range []struct {
		paths []string
		state state
	}{{p.Write, writes}, {p.ReadOnly, open}, {p.Hidden, hides}} { // the last of equal ones counts
		for _, root := range l.paths {
			if len(root) >= longest && below(root, file) {
				longest, found = len(root), l.state
			}
		}
	}
	return found
}

func (p confinement) writes(file string) bool { return p.of(file) == writes }
