package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/permission"
)

const (
	// guardDepth is how many folders below a root are searched.
	guardDepth = 4
	// guardEntries bounds how many files are looked at in a root.
	guardEntries = 20_000
)

// Guarded returns what belongs into [Policy].ReadOnly for the folders in Write:
// the files of agents, editors, git and shells that decide what runs later or
// what is permitted (see [permission.Guarded]). What a project or the home folder
// has at its top is named whether it exists or not; farther down, four folders
// deep, what exists. Of a repository these are the hooks and the configuration,
// also where core.hooksPath and include.path say that they are, and those of its
// submodules and worktrees; a place where there is no repository cannot become one.
func Guarded(write []string) []string {
	var found []string
	for _, root := range write {
		if info, err := os.Lstat(root); err == nil && info.IsDir() {
			found = append(found, guardedIn(root)...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func guardedIn(root string) (found []string) {
	project, ofHome := permission.Guarded()
	names := slices.Concat(project, ofHome)
	add := func(file string) {
		if filepath.Base(file) == ".git" {
			found = append(found, guardedGit(file)...)
			for _, more := range configured(file) {
				more = filepath.Join(permission.RealPath(filepath.Dir(more)), filepath.Base(more)) // the link itself, too
				for _, name := range []string{more, permission.RealPath(more)} {
					if name != root && below(root, name) {
						found = append(found, name)
					}
				}
			}
			return
		}
		found = append(found, file)
		if real, err := filepath.EvalSymlinks(file); err == nil && real != file && below(root, real) {
			found = append(found, real)
		}
	}
	for _, name := range project {
		add(filepath.Join(root, name))
	}
	if home, err := os.UserHomeDir(); err == nil {
		if home, err = filepath.EvalSymlinks(home); err == nil && below(root, home) {
			for _, name := range ofHome {
				add(filepath.Join(home, name))
			}
		}
	}
	entries := 0
	_ = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if entries++; entries > guardEntries {
			return fs.SkipAll
		}
		if err != nil || file == root {
			return nil
		}
		rel, _ := filepath.Rel(root, file)
		switch {
		case slices.Contains(names, strings.ToLower(d.Name())):
			add(file)
		case !d.IsDir(), d.Name() != "node_modules" && strings.Count(rel, string(filepath.Separator)) < guardDepth:
			return nil
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return found
}

// guardedGit returns what of a .git decides what git runs. A .git that is a file
// says where another is.
func guardedGit(git string) []string {
	info, err := os.Lstat(git)
	if err != nil || !info.IsDir() {
		return []string{git}
	}
	found := guardedRepository(git)
	for _, more := range []string{"modules", "worktrees"} {
		entries := 0
		_ = filepath.WalkDir(filepath.Join(git, more), func(file string, d fs.DirEntry, err error) error {
			if entries++; entries > guardEntries {
				return fs.SkipAll
			}
			if err == nil && d.Type().IsRegular() && d.Name() == "HEAD" && filepath.Base(filepath.Dir(file)) != "logs" {
				if more == "modules" {
					found = append(found, guardedRepository(filepath.Dir(file))...)
				} else {
					found = append(found, filepath.Join(filepath.Dir(file), "config.worktree"), filepath.Join(filepath.Dir(file), "commondir"))
				}
			}
			return nil
		})
	}
	return found
}

// guardedRepository returns what of a repository's folder decides what git runs.
// commondir says where another repository's configuration is.
func guardedRepository(dir string) (found []string) {
	for _, name := range []string{"config", "config.worktree", "commondir", "hooks", "info/attributes"} {
		found = append(found, filepath.Join(dir, filepath.FromSlash(name)))
	}
	return found
}
