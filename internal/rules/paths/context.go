// Package paths says where paths lead and which patterns cover them, seen from the folders
// that an agent works in. A [Context] looks at each file once, so that all rules judge the
// same state of the disk.
package paths

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/guarded"
)

// A Context is where a call works: paths are resolved and judged from it.
type Context struct {
	Dir   string
	given []string // folders that the agent works in
	ready bool     // what follows is known
	roots []string // as given and with links resolved
	bases []string // what deny and ask patterns start from
	main  []string // what allow patterns start from

	*disk
	tops     []string   // bases, [Joined]
	from     [][]string // bases in segments
	mainTops []string   // main, [Joined]
	fromMain [][]string // main in segments
}

// NewContext returns the context of a call that runs in dir. roots are the folders
// that the agent works in, dir alone if nil.
func NewContext(dir string, roots []string) *Context {
	x := &struct {
		Context
		disk disk
	}{}
	x.Context = Context{Dir: dir, given: roots, disk: &x.disk}
	return &x.Context
}

// settled returns the context once its folders are known, which calls that touch no
// file never need.
func (g *Context) settled() *Context {
	if g.ready {
		return g
	}
	g.ready = true
	given := g.given
	if given == nil && g.Dir != "" {
		given = []string{g.Dir}
	}
	for _, d := range given {
		if !filepath.IsAbs(d) {
			continue
		}
		forms := g.Forms(d)
		if g.main == nil {
			g.main = forms
		}
		g.roots = append(g.roots, forms...)
	}
	if g.main == nil && filepath.IsAbs(g.Dir) {
		g.main = g.Forms(g.Dir)
	}
	g.bases = g.roots
	g.startFrom(g.Dir)
	return g
}

// startFrom lets deny and ask patterns start from dir too.
func (g *Context) startFrom(dir string) {
	if !filepath.IsAbs(dir) {
		return
	}
	g.bases = slices.Concat(g.bases, g.Forms(dir))
	slices.Sort(g.bases)
	g.bases, g.from, g.tops = slices.Compact(g.bases), nil, nil
}

// At returns the context seen from another folder, "" for the same.
func (g *Context) At(dir string) *Context {
	if dir == "" || dir == g.Dir {
		return g
	}
	moved := *g.settled()
	moved.Dir = dir
	moved.startFrom(dir)
	return &moved
}

// Forms returns an absolute path as it is written and where it really leads, nil
// if links lead in a circle.
func (g *Context) Forms(p string) []string { return g.known(p).forms }

// Inside reports whether p is in one of the roots, as written and for real.
func (g *Context) Inside(p string) bool {
	if !filepath.IsAbs(p) {
		return false
	}
	forms := g.Forms(p)
	for _, f := range forms {
		if !slices.ContainsFunc(g.settled().roots, func(root string) bool { return Below(root, f) }) {
			return false
		}
	}
	return len(forms) > 0
}

// Guards reports whether p is guarded. The way to a root does not count, nor does the
// way to a worktree that was made in it, which is a working folder like a root.
func (g *Context) Guards(p string) bool {
	for _, f := range g.Forms(p) {
		within := ""
		for _, root := range g.settled().roots {
			if Below(root, f) {
				f = f[len(strings.TrimSuffix(root, string(filepath.Separator))):]
				within = root
				break
			}
		}
		segs := Segments(f)
		if within != "" && inWorktree(within, segs) {
			segs = segs[3:]
		}
		if guarded.Covers(segs) || g.guardsAtHome(f, within) {
			return true
		}
	}
	return false
}

// guardsAtHome reports whether a path, without the root in front, is guarded because
// the root is a folder of the home folder, such as ~/.config.
func (g *Context) guardsAtHome(rest, root string) bool {
	h := Home()
	if root == "" || h == "" || root == h || !Below(h, root) {
		return false
	}
	file := root + rest
	return slices.ContainsFunc(guarded.Paths(guarded.Home), func(name string) bool {
		entry := filepath.Join(h, filepath.FromSlash(name))
		return Below(entry, file) && !Below(entry, root)
	})
}

// inWorktree reports whether a path, in segments from root, is in a linked
// worktree of those that are made under a root: there, .git is a file.
func inWorktree(root string, segs []string) bool {
	if len(segs) <= 3 || segs[0] != ".openagent" || segs[1] != "worktrees" || guarded.Covers(segs[2:3]) {
		return false
	}
	fi, err := os.Lstat(filepath.Join(root, segs[0], segs[1], segs[2], ".git"))
	return err == nil && fi.Mode().IsRegular()
}

// DeniedBy reports whether a deny or ask pattern concerns p or all that is in it.
func (g *Context) DeniedBy(pattern *Pattern, p string) bool {
	from := g.starts()
	known := g.known(p)
	for i, segs := range known.folded(p) {
		if drives && !pattern.MayBeOn(known.either(p)[i]) {
			continue
		}
		for _, base := range from {
			if pattern.concerns(segs, base) {
				return true
			}
		}
	}
	return false
}

// AllowedBy reports whether an allow pattern covers p, as written and for real.
func (g *Context) AllowedBy(pattern *Pattern, p string) bool {
	if !filepath.IsAbs(p) {
		return false
	}
	pattern = pattern.Exact()
	forms := g.Forms(p)
	for i, segs := range g.known(p).exact() {
		covered := false
		for j, base := range g.mains() {
			covered = covered || pattern.Matches(segs, base) && (!drives || pattern.surelyOn(forms[i], g.startOf(j)))
		}
		if !covered {
			return false
		}
	}
	return len(forms) > 0
}

// starts returns the folders, in segments, that deny and ask patterns start from.
func (g *Context) starts() [][]string {
	if g.settled().from == nil {
		g.from, g.tops = inSegments(g.starting(), FoldCase)
	}
	return g.from
}

// starting returns the folders that deny and ask patterns start from: the bases, and
// where these are in other worktrees of their repositories.
func (g *Context) starting() []string {
	all := g.settled().bases
	for _, base := range all[:len(all):len(all)] {
		for _, t := range g.worktrees(base) {
			if !slices.Contains(all, t) {
				all = append(all[:len(all):len(all)], t)
			}
		}
	}
	return all
}

// mains returns the folders, in segments, that allow patterns start from.
func (g *Context) mains() [][]string {
	if g.settled().fromMain == nil {
		g.fromMain, g.mainTops = inSegments(g.main, false)
	}
	return g.fromMain
}

// startOf returns the folder of [Context.mains] with an index, "" for the root of the file system.
func (g *Context) startOf(i int) string {
	if i < len(g.main) {
		return g.main[i]
	}
	return ""
}

// inSegments returns folders in segments, and the same [Joined]; the root of the file
// system where there are none.
func inSegments(dirs []string, fold bool) (segs [][]string, texts []string) {
	if len(dirs) == 0 {
		return [][]string{nil}, []string{""}
	}
	for _, d := range dirs {
		text := Joined(d, fold)
		texts = append(texts, text)
		segs = append(segs, Split(text))
	}
	return segs, texts
}

// AllBases returns the folders that deny and ask patterns start from, without those in
// other worktrees.
func (g *Context) AllBases() []string { return g.settled().bases }

// StartsFrom returns the bases and where they are in other worktrees of their
// repositories, in segments.
func StartsFrom(bases []string) [][]string {
	g := Context{ready: true, bases: bases, disk: new(disk)}
	return g.starts()
}

// DeniedForms returns a path as deny and ask patterns compare it, [Joined]: the form as
// written and the one that it leads to. tops are the folders that they start from.
func (g *Context) DeniedForms(file string) (forms, tops []string) {
	g.starts()
	for _, f := range g.known(file).either(file) {
		forms = append(forms, Joined(f, FoldCase))
	}
	return forms, g.tops
}

// AllowedForm is [Context.DeniedForms] for allow patterns, of which each form has to be covered:
// one will do. It is false for a path that leads nowhere.
func (g *Context) AllowedForm(file string) (form string, tops []string, ok bool) {
	forms := g.Forms(file)
	if len(forms) == 0 {
		return "", nil, false
	}
	g.mains()
	return Joined(forms[0], false), g.mainTops, true
}

// FirstRoots returns the first root as it is given and where it leads, or the directory
// of the call.
func (g *Context) FirstRoots() []string { return g.settled().main }
