package permission

import (
	"path/filepath"
	"slices"
)

// What the program keeps for itself.

// kept returns private paths as they are given and where they lead.
func (g *pathContext) kept(private []string) []string {
	var out []string
	for _, p := range private {
		out = append(out, g.forms(p)...)
	}
	return out
}

// readRule is the rule that is named for a private path.
func readRule(path string) Rule { return Rule("Read(" + anchor("/", path) + ")") }

// among returns which of the kept a file is, is in, or is beside by a name that
// goes on with a dot; "" for none.
func (g *pathContext) among(kept []string, file string) string {
	forms := g.forms(file)
	if forms == nil {
		forms = []string{filepath.Clean(file)}
	}
	for _, f := range forms {
		if k := amongPrivate(kept, f); k != "" {
			return k
		}
	}
	return ""
}

// private returns the private path that the call is known to touch, and by which
// access.
func (c *call) private(paths []string) (string, Access, bool) {
	if len(paths) == 0 || len(c.req.Access) == 0 {
		return "", Access{}, false
	}
	kept := c.ground.kept(paths)
	for i, a := range c.req.Access {
		path := ""
		switch a.Kind {
		case ReadFile, EditFile:
			path = c.ground.among(kept, a.Target)
		case RunCommand:
			if path = c.sites[i].opensAmong(kept); path == "" {
				path = c.sites[i].walksAmong(kept)
			}
		}
		if path != "" {
			return path, a, true
		}
	}
	return "", Access{}, false
}

// opensAmong returns which of the kept the line is known to open, "" for none.
func (s *shellLine) opensAmong(kept []string) string {
	for _, r := range s.Redirects {
		if path := s.namesAmong(kept, r.in, r.word); path != "" {
			return path
		}
	}
	for i := range s.List {
		c := &s.List[i]
		if !c.opens(false) {
			continue
		}
		for _, w := range c.words {
			if path := s.namesAmong(kept, c.in, w); path != "" {
				return path
			}
		}
	}
	return ""
}

// walksAmong returns which of the kept is in a folder that a command of the line is
// known to take for all that is in it, to copy it, to search it or to link to it.
func (s *shellLine) walksAmong(kept []string) string {
	for i := range s.List {
		c := &s.List[i]
		if _, walks := c.walker(); !walks {
			continue
		}
		for _, path := range kept {
			if exists(path) && s.walksOnto(c, path) {
				return path
			}
		}
	}
	return ""
}

// walksOnto reports whether a folder that the command names, or runs in, is above a
// path or leads there.
func (s *shellLine) walksOnto(c *Command, path string) bool {
	w, _ := c.walker()
	named := false
	for _, x := range c.operands() {
		words, _ := x.meanings()
		for _, m := range words {
			for _, v := range pathForms(m) {
				files, _, _ := s.reach(c.in, v)
				for _, f := range files {
					if s.above(f, path) {
						return true
					}
					named = named || exists(f)
				}
			}
		}
	}
	if !w.here || named {
		return false
	}
	dirs, _ := s.dirs(c.in)
	return slices.ContainsFunc(dirs, func(d string) bool { return s.above(d, path) })
}

// above reports whether a folder is above a path, or is it, as it is written or where
// it leads.
func (g *pathContext) above(folder, path string) bool {
	return slices.ContainsFunc(g.forms(folder), func(f string) bool { return below(f, path) })
}

func (s *shellLine) namesAmong(kept []string, in []workdir, w word) string {
	words, _ := w.meanings()
	for _, m := range words {
		for _, v := range pathForms(m) {
			files, _, _ := s.reach(in, v)
			for _, f := range files {
				if path := s.among(kept, f); path != "" {
					return path
				}
			}
		}
	}
	return ""
}

// keptInside returns the private paths that are in a root. There, what a call
// touches without saying so may be one of them.
func (g *pathContext) keptInside(private []string) []string {
	if len(private) == 0 {
		return nil
	}
	return slices.DeleteFunc(g.kept(private), func(p string) bool {
		return !slices.ContainsFunc(g.settled().roots, func(root string) bool { return below(root, p) })
	})
}

// privateDoubt says why a command line may touch what is kept in a root without
// being seen to, "" if it cannot.
func (c *call) privateDoubt(paths []string) (path, why string) {
	if len(c.sites) == 0 {
		return "", ""
	}
	for _, p := range c.ground.keptInside(paths) {
		for i, a := range c.req.Access {
			if a.Kind != RunCommand {
				continue
			}
			if why := c.sites[i].mayTouch(&rule{tool: "Read", path: newPathPattern(anchor("/", p), foldCase)}); why != "" {
				return p, why
			}
		}
	}
	return "", ""
}
