package permission

import (
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/guarded"
)

// foldCase: the usual file systems of these systems ignore case, so a deny rule
// must do so as well.
const foldCase = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

// MatchPath reports whether the file at path (absolute) falls under pattern, a
// gitignore-style pattern: "*.env" and "secrets/" match at any depth below dir,
// "/src/**" from dir, "//etc/**" from the root of the file system, "~/.ssh/**"
// from the home folder. A pattern that names a folder covers all below it, and
// one that ends in "/**" covers what is in the folder, not the folder.
// Whole segments are compared, without regard to case where file systems have
// none. A malformed pattern matches nothing; [Rule.Check] finds it.
func MatchPath(pattern, path, dir string) bool {
	return matchPath(pattern, path, dir, foldCase)
}

func matchPath(pattern, file, dir string, fold bool) bool {
	p := newPathPattern(pattern, fold)
	segs, base := segments(file), segments(dir)
	if fold {
		segs, base = lower(segs), lower(base)
	}
	return p.matches(segs, base)
}

// matchSegments reports whether pats match segs or the segments of a folder above.
func matchSegments(pats, segs []string) bool {
	p, s, star, mark := 0, 0, -1, 0
	for {
		switch {
		case p == len(pats):
			return true
		case pats[p] == "**":
			star, mark = p, s
			p++
			continue
		case s < len(segs) && matchSegment(pats[p], segs[s]):
			p, s = p+1, s+1
			continue
		}
		if star < 0 || mark >= len(segs) {
			return false
		}
		mark++
		p, s = star+1, mark
	}
}

// magic are the characters that stand for others in a pattern of a segment.
const magic = `*?[\`

func matchSegment(pat, seg string) bool {
	switch {
	case pat == "*":
		return true
	case !strings.ContainsAny(pat, magic):
		return pat == seg
	}
	ok, err := path.Match(strings.ReplaceAll(pat, "[!", "[^"), seg)
	return ok && err == nil
}

// checkPattern reports a path pattern that cannot be matched.
func checkPattern(pattern string) error {
	for s := range strings.SplitSeq(pattern, "/") {
		if _, err := path.Match(strings.ReplaceAll(s, "[!", "[^"), ""); err != nil {
			return err
		}
	}
	return nil
}

// anchor rewrites pattern, meant from dir, so that it holds wherever it is read.
func anchor(pattern, dir string) string {
	p := newPathPattern(pattern, false)
	base, pats := p.start(segments(dir)), p.pats
	all := make([]string, 0, len(base)+len(pats))
	for _, s := range base {
		all = append(all, escapeGlob(s))
	}
	return "//" + strings.Join(append(all, pats...), "/")
}

var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

func escapeGlob(s string) string { return globEscaper.Replace(s) }

// segments splits a path, cleaned and without its volume.
func segments(p string) []string {
	if p == "" {
		return nil
	}
	p = filepath.Clean(p)
	return split(strings.Trim(filepath.ToSlash(p[len(filepath.VolumeName(p)):]), "/"))
}

// split returns the segments of a clean path that neither begins nor ends with "/".
func split(p string) []string {
	if p == "" {
		return nil
	}
	return strings.Split(p, "/")
}

func lower(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.ToLower(s)
	}
	return out
}

// home returns the home folder, or "" where there is none.
func home() string {
	h, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return h
}

const maxLinks = 40 // like Linux

// realPath resolves the symbolic links of p, an absolute path that need not be
// clean nor exist, the way the kernel does: ".." is the parent of what the link
// leads to. It returns "" for a loop of links.
func realPath(p string, readlink func(string) (string, error)) string {
	vol := filepath.VolumeName(p)
	root := vol + string(filepath.Separator)
	rest := strings.Split(filepath.ToSlash(p[len(vol):]), "/")
	cur, links := root, 0
	for len(rest) > 0 {
		s := rest[0]
		rest = rest[1:]
		switch s {
		case "", ".":
			continue
		case "..":
			cur = filepath.Dir(cur)
			continue
		}
		next := filepath.Join(cur, s)
		to, err := readlink(next)
		if err != nil {
			cur = next
			continue
		}
		if links++; links > maxLinks {
			return ""
		}
		if filepath.IsAbs(to) {
			vol := filepath.VolumeName(to)
			cur, to = vol+string(filepath.Separator), to[len(vol):]
		}
		rest = append(strings.Split(filepath.ToSlash(to), "/"), rest...)
	}
	return cur
}

// A pathContext is where a call works: paths are resolved and judged from it.
type pathContext struct {
	dir   string
	given []string // folders that the agent works in
	ready bool     // what follows is known
	roots []string // as given and with links resolved
	bases []string // what deny and ask patterns start from
	main  []string // what allow patterns start from

	*disk
	tops     []string   // bases, [joined]
	from     [][]string // bases in segments
	mainTops []string   // main, joined
	fromMain [][]string // main in segments

	in     []workdir // the places whose folders were asked for last
	inDirs []string
	inOK   bool
}

func newPathContext(r Request) *pathContext {
	x := &struct {
		pathContext
		disk disk
	}{}
	x.pathContext = pathContext{dir: r.Dir, given: r.Roots, disk: &x.disk}
	return &x.pathContext
}

// settled returns the ground once its folders are known, which calls that touch no
// file never need.
func (g *pathContext) settled() *pathContext {
	if g.ready {
		return g
	}
	g.ready = true
	given := g.given
	if given == nil && g.dir != "" {
		given = []string{g.dir}
	}
	for _, d := range given {
		if !filepath.IsAbs(d) {
			continue
		}
		forms := g.forms(d)
		if g.main == nil {
			g.main = forms
		}
		g.roots = append(g.roots, forms...)
	}
	if g.main == nil && filepath.IsAbs(g.dir) {
		g.main = g.forms(g.dir)
	}
	g.bases = g.roots
	g.startFrom(g.dir)
	return g
}

// startFrom lets deny and ask patterns start from dir too.
func (g *pathContext) startFrom(dir string) {
	if !filepath.IsAbs(dir) {
		return
	}
	g.bases = slices.Concat(g.bases, g.forms(dir))
	slices.Sort(g.bases)
	g.bases, g.from, g.tops = slices.Compact(g.bases), nil, nil
}

// at returns the ground seen from another folder, "" for the same.
func (g *pathContext) at(dir string) *pathContext {
	if dir == "" || dir == g.dir {
		return g
	}
	moved := *g.settled()
	moved.dir, moved.in = dir, nil
	moved.startFrom(dir)
	return &moved
}

// forms returns an absolute path as it is written and where it really leads, nil
// if links lead in a circle.
func (g *pathContext) forms(p string) []string { return g.spot(p).forms }

// inside reports whether p is in one of the roots, as written and for real.
func (g *pathContext) inside(p string) bool {
	if !filepath.IsAbs(p) {
		return false
	}
	forms := g.forms(p)
	for _, f := range forms {
		if !slices.ContainsFunc(g.settled().roots, func(root string) bool { return below(root, f) }) {
			return false
		}
	}
	return len(forms) > 0
}

// below reports whether p, clean, is root or in it.
func below(root, p string) bool {
	rest, ok := strings.CutPrefix(p, strings.TrimSuffix(root, string(filepath.Separator)))
	return ok && (rest == "" || os.IsPathSeparator(rest[0]))
}

// guards reports whether p is guarded. The way to a root does not count, nor does the
// way to a worktree that was made in it, which is a working folder like a root.
func (g *pathContext) guards(p string) bool {
	for _, f := range g.forms(p) {
		within := ""
		for _, root := range g.settled().roots {
			if below(root, f) {
				f = f[len(strings.TrimSuffix(root, string(filepath.Separator))):]
				within = root
				break
			}
		}
		segs := segments(f)
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
func (g *pathContext) guardsAtHome(rest, root string) bool {
	h := home()
	if root == "" || h == "" || root == h || !below(h, root) {
		return false
	}
	file := root + rest
	return slices.ContainsFunc(guarded.Paths(guarded.Home), func(name string) bool {
		entry := filepath.Join(h, filepath.FromSlash(name))
		return below(entry, file) && !below(entry, root)
	})
}

// inWorktree reports whether a path, in segments from root, is in a linked
// worktree of those that are made beneath a root: there, .git is a file.
func inWorktree(root string, segs []string) bool {
	if len(segs) <= 3 || segs[0] != ".openagent" || segs[1] != "worktrees" || guarded.Covers(segs[2:3]) {
		return false
	}
	fi, err := os.Lstat(filepath.Join(root, segs[0], segs[1], segs[2], ".git"))
	return err == nil && fi.Mode().IsRegular()
}

// deniedBy reports whether a deny or ask pattern concerns p or all that is in it.
func (g *pathContext) deniedBy(pattern *pathPattern, p string) bool {
	from := g.starts()
	for _, segs := range g.spot(p).folded(p) {
		for _, base := range from {
			if pattern.concerns(segs, base) {
				return true
			}
		}
	}
	return false
}

// allowedBy reports whether an allow pattern covers p, as written and for real.
func (g *pathContext) allowedBy(pattern *pathPattern, p string) bool {
	if !filepath.IsAbs(p) {
		return false
	}
	forms := g.spot(p).exact()
	for _, segs := range forms {
		if !slices.ContainsFunc(g.mains(), func(base []string) bool { return pattern.exact().matches(segs, base) }) {
			return false
		}
	}
	return len(forms) > 0
}

// starts returns the folders, in segments, that deny and ask patterns start from.
func (g *pathContext) starts() [][]string {
	if g.settled().from == nil {
		g.from, g.tops = inSegments(g.starting(), foldCase)
	}
	return g.from
}

// starting returns the folders that deny and ask patterns start from: the bases, and
// where these are in other worktrees of their repositories.
func (g *pathContext) starting() []string {
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
func (g *pathContext) mains() [][]string {
	if g.settled().fromMain == nil {
		g.fromMain, g.mainTops = inSegments(g.main, false)
	}
	return g.fromMain
}

// inSegments returns folders in segments, and the same [joined]; the root of the file
// system where there are none.
func inSegments(dirs []string, fold bool) (segs [][]string, texts []string) {
	if len(dirs) == 0 {
		return [][]string{nil}, []string{""}
	}
	for _, d := range dirs {
		text := joined(d, fold)
		texts = append(texts, text)
		segs = append(segs, split(text))
	}
	return segs, texts
}
