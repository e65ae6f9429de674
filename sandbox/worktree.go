package sandbox

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/rules/paths"
)

// A worktree is a linked git worktree, see git-worktree(1). Its paths are free of
// symlinks.
type worktree struct {
	top    string // folder of the files
	git    string // its folder in the repository's folder: its index, its HEAD
	common string // folder of the repository
}

const (
	// maxGitPath bounds the bytes read of a file with a path in it.
	maxGitPath = 64 << 10
	// maxCheckouts bounds how many worktrees have their branches looked up.
	maxCheckouts = 200
)

// worktreeOf returns the linked worktree that a folder is in, nil if there is none. The
// repository must know the worktree: a file .git alone, which any command can write, is not
// enough.
func worktreeOf(dir string) *worktree {
	dir = paths.RealPath(dir)
	for ; dir != "" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		info, err := os.Lstat(filepath.Join(dir, ".git"))
		if err != nil {
			continue
		}
		if !info.Mode().IsRegular() {
			return nil
		}
		return linked(dir)
	}
	return nil
}

func linked(top string) *worktree {
	file := filepath.Join(top, ".git")
	git, ok := strings.CutPrefix(firstLine(file), "gitdir:")
	if !ok {
		return nil
	}
	git = paths.RealPath(from(top, strings.TrimSpace(git)))
	if git == "" {
		return nil
	}
	common := paths.RealPath(from(git, firstLine(filepath.Join(git, "commondir"))))
	back := from(git, firstLine(filepath.Join(git, "gitdir")))
	if common == "" || filepath.Dir(git) != filepath.Join(common, "worktrees") || paths.RealPath(filepath.Dir(back)) != top || filepath.Base(back) != ".git" {
		return nil
	}
	return &worktree{top: top, git: git, common: common}
}

// from returns a path that is written in a folder.
func from(dir, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return path
}

// firstLine returns the first line of a regular file, "" if it cannot be read.
func firstLine(file string) string {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := plainfile.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxGitPath))
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSuffix(line, "\r")
}

// allow adds to a policy the paths that git writes for a commit in the worktree: objects,
// branches and the worktree's own state. The repository's configuration and hooks stay
// protected, and so do the branches that are checked out elsewhere.
func (w *worktree) allow(p confinement) confinement {
	p.Write = slices.Clone(p.Write)
	for _, dir := range []string{w.git, filepath.Join(w.common, "objects"), filepath.Join(w.common, "refs"), filepath.Join(w.common, "logs", "refs")} {
		if paths.RealPath(dir) == dir { // a repository may be put together from links
			p.Write = append(p.Write, dir)
		}
	}
	s := guardSearch{root: w.git}
	s.addModules(w.git)
	p.ReadOnly = slices.Concat(p.ReadOnly, guardedWorktree(w.git), s.found)
	for _, ref := range w.checkedOutElsewhere() {
		p.ReadOnly = append(p.ReadOnly, filepath.Join(w.common, ref))
		if log := filepath.Join(w.common, "logs", ref); paths.RealPath(log) == log {
			p.ReadOnly = append(p.ReadOnly, log)
		}
	}
	return p
}

// checkedOutElsewhere lists the branches of the main worktree and of the other
// linked ones, as refs/heads/main.
func (w *worktree) checkedOutElsewhere() []string {
	heads := []string{filepath.Join(w.common, "HEAD")}
	entries, _ := os.ReadDir(filepath.Join(w.common, "worktrees"))
	for _, e := range entries[:min(len(entries), maxCheckouts)] {
		if dir := filepath.Join(w.common, "worktrees", e.Name()); dir != w.git {
			heads = append(heads, filepath.Join(dir, "HEAD"))
		}
	}
	own := firstLine(filepath.Join(w.git, "HEAD"))
	var refs []string
	for _, head := range heads {
		line := firstLine(head)
		ref, ok := strings.CutPrefix(line, "ref:")
		ref = filepath.FromSlash(strings.TrimSpace(ref))
		if ok && line != own && filepath.IsLocal(ref) && strings.HasPrefix(ref, "refs"+string(filepath.Separator)) && !slices.Contains(refs, ref) {
			refs = append(refs, filepath.Clean(ref))
		}
	}
	return refs
}

// at returns the place in the worktree that stands for p.
func (w *worktree) at(p Place) Place {
	inside, err := filepath.Rel(filepath.Dir(w.common), paths.RealPath(p.Dir))
	if err != nil || !filepath.IsLocal(inside) || below(filepath.Join(filepath.Dir(w.common), ".openagent"), paths.RealPath(p.Dir)) {
		inside = "."
	}
	roots := []string{w.top}
	for _, root := range p.Roots {
		if !below(paths.RealPath(root), w.top) {
			roots = append(roots, root)
		}
	}
	p.Dir, p.Roots = filepath.Join(w.top, inside), roots
	return p
}

// in returns the rules for a run in a worktree separate from the folders of r. It may write
// the worktree instead of the folder that the worktree lies in. Paths denied in r stay
// denied, and so do the same paths in the worktree.
func (r *Rules) in(w *worktree) (*Rules, error) {
	rules, err := r.settings.At(w.at(r.place))
	if err != nil {
		return nil, err
	}
	rules.denied = slices.Concat(rules.denied, r.denied)
	rules.hidden = slices.Concat(rules.hidden, r.hidden)
	rules.bare = slices.Concat(rules.bare, r.bare)
	rules.keep = slices.Concat(rules.keep, r.keep)
	rules.read = slices.Concat(rules.read, r.read)
	if depth(r.write, paths.RealPath(r.place.Dir)) >= 0 {
		rules.write = append(rules.write, entry{setting: "the worktree", text: w.top, clean: w.top, real: w.top})
	}
	rules.worktree = w
	for _, dir := range append([]string{r.place.Dir, filepath.Dir(w.common)}, r.place.Roots...) {
		if real := paths.RealPath(dir); below(real, w.top) && real != w.top {
			rules.apart = append(rules.apart, entry{setting: "the worktree", text: dir, clean: filepath.Clean(dir), real: real})
		}
	}
	rules.forbidden = nil
	rules.forCommands()
	return rules, nil
}

// isApart reports whether a path is in a folder that the run's worktree was made
// to keep it out of.
func (r *Rules) isApart(real string) bool {
	return r.worktree != nil && !below(r.worktree.top, real) && depth(r.apart, real) >= max(0, depth(r.write, real))
}
