package rules

import (
	"path/filepath"
	"slices"

	"github.com/openagent-go/agent/internal/rules/paths"
)

// A Concealer can tell of any file whether it may be read.
type Concealer interface {
	// Conceals reports whether a file must not be shown. The path is absolute and
	// clean. It is asked for each file of a search, so it should be quick.
	Conceals(path string) bool
	// ConcealsIn reports whether it may conceal something in a folder, or the folder.
	ConcealsIn(folder string) bool
}

// Unreadable says which files must not be shown, neither their content nor their
// names: the one answer for every tool that walks, lists, searches, opens or imports
// files. It does not change and may be used by several goroutines at once. Nil
// hides nothing.
type Unreadable struct {
	fixed    []*paths.Pattern // from the root of the file system, or from the home folder
	moving   []*paths.Pattern // from each base, and from the directory of the call
	roots    []string         // as they are given and where they lead
	bases    [][]string       // what moving starts from, in segments; nil: not looked for yet
	private  []string         // as they are given and where they lead
	conceals []Concealer
}

// DeniedReadPatterns returns what the deny rules for reading, the private paths, the ceilings
// and the concealers hide. Patterns hold in every root, in
// the other worktrees of its repository, and in the directory of the call.
func (p Policy) DeniedReadPatterns(conceals []Concealer, roots ...string) *Unreadable {
	u := new(Unreadable)
	u.add(p)
	u.conceals = slices.Clone(conceals)
	if len(u.moving) > 0 && len(roots) > 0 {
		u.roots = paths.NewContext("", roots).AllBases()
	}
	if len(u.fixed)+len(u.moving)+len(u.private)+len(u.conceals) == 0 {
		return nil
	}
	return u
}

func (u *Unreadable) add(p Policy) {
	for _, r := range p.Deny {
		x, err := r.parse()
		if err != nil || x.tool != "Read" {
			continue
		}
		pattern := x.pattern
		if pattern == "" || pattern == "*" {
			pattern = "//**"
		}
		if parsed := paths.NewPattern(pattern, paths.FoldCase); parsed.From == 0 {
			u.moving = append(u.moving, parsed)
		} else {
			u.fixed = append(u.fixed, parsed)
		}
	}
	for _, path := range paths.NewContext("", nil).Kept(p.Private) {
		if !slices.Contains(u.private, path) {
			u.private = append(u.private, path)
		}
	}
	for _, c := range p.Parents {
		u.add(c)
	}
}

// Hides reports whether a file must not be shown, as its path is written or where it
// leads. The path is absolute; dir is the directory of the call.
func (u *Unreadable) Hides(path, dir string) bool {
	if u == nil {
		return false
	}
	u = u.based()
	clean := filepath.Clean(path)
	if u.HidesPlain(clean, dir) {
		return true
	}
	real := paths.RealPath(path)
	return real == "" || real != clean && u.HidesPlain(real, dir)
}

// HidesPlain is Hides for a path that is clean and has no links in it. Of what
// [Unreadable.Under] returns it does not look at the disk.
func (u *Unreadable) HidesPlain(path, dir string) bool {
	if u == nil {
		return false
	}
	if paths.AmongPrivate(u.private, path) != "" || slices.ContainsFunc(u.conceals, func(c Concealer) bool { return c.Conceals(path) }) {
		return true
	}
	if len(u.fixed)+len(u.moving) == 0 {
		return false
	}
	segs := paths.Split(paths.Joined(path, paths.FoldCase))
	if slices.ContainsFunc(u.fixed, func(p *paths.Pattern) bool { return p.Matches(segs, nil) && p.MayBeOn(path) }) {
		return true
	}
	if len(u.moving) == 0 {
		return false
	}
	hides := func(base []string) bool {
		return slices.ContainsFunc(u.moving, func(p *paths.Pattern) bool { return p.Matches(segs, base) })
	}
	return slices.ContainsFunc(u.based().bases, hides) || hides(paths.Split(paths.Joined(dir, paths.FoldCase)))
}

// based returns u with the folders that patterns start from as they are now:
// worktrees come and go.
func (u *Unreadable) based() *Unreadable {
	if u.bases != nil || len(u.moving) == 0 {
		return u
	}
	now := *u
	now.bases = [][]string{}
	if len(u.roots) > 0 {
		now.bases = paths.StartsFrom(u.roots)
	}
	return &now
}

// Under returns what is hidden in a folder, for the files of one search: it answers
// faster. Nil: nothing is. The folder is clean and has no links in it.
func (u *Unreadable) Under(folder string) *Unreadable {
	if u == nil {
		return nil
	}
	narrow := *u.based()
	narrow.private = slices.DeleteFunc(slices.Clone(u.private), func(p string) bool { return !paths.Below(folder, p) && paths.AmongPrivate([]string{p}, folder) == "" })
	narrow.conceals = slices.DeleteFunc(slices.Clone(u.conceals), func(c Concealer) bool { return !c.ConcealsIn(folder) })
	if len(narrow.fixed)+len(narrow.moving)+len(narrow.private)+len(narrow.conceals) == 0 {
		return nil
	}
	return &narrow
}

// UnreadableOf returns the files that a call in the folder dir must not show. h is an
// Unreadable, or a value of the program that answers for one path at a time.
func UnreadableOf(h interface{ Hides(path, dir string) bool }, dir string) *Unreadable {
	switch u := h.(type) {
	case nil:
		return nil
	case *Unreadable:
		return u
	}
	return &Unreadable{conceals: []Concealer{hider{h, dir}}}
}

// A hider asks about files as seen from a folder.
type hider struct {
	hides interface{ Hides(path, dir string) bool }
	dir   string
}

func (h hider) Conceals(path string) bool { return h.hides.Hides(path, h.dir) }
func (hider) ConcealsIn(string) bool      { return true }
