package sandbox

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/guarded"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/rules/paths"
)

const (
	// guardEntries bounds how many files are looked at in a root, those of the upper
	// folders first.
	guardEntries = 20_000
	// guardFiles bounds the files found below the top of a root: each costs every command a
	// mount.
	guardFiles = 500
)

// guardedBelow returns what belongs into [confinement].ReadOnly for the folders in Write: the files
// of agents, editors, git, shells and build tools that decide what runs later or what is
// permitted (see [guarded.Paths]). At the top of a project or the home folder they are
// listed even if they do not exist, except those in [guarded.Existing]. Farther down,
// except in node_modules, only existing files are listed. In a repository these are the
// hooks and the configuration, including those that core.hooksPath and include.path name,
// and those of its submodules and worktrees. A folder without a repository cannot become
// one.
//
// unsearched lists the folders that are too large to search whole.
func guardedBelow(write []string) (files, unsearched []string) {
	for _, root := range write {
		if info, err := os.Lstat(root); err == nil && info.IsDir() {
			s := guardSearch{root: root}
			s.search()
			files = append(files, s.found...)
			if s.cut {
				unsearched = append(unsearched, root)
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files), unsearched
}

// A guardSearch looks for guarded files in a root.
type guardSearch struct {
	root    string
	found   []string
	entries int
	cut     bool // there was more
}

func (s *guardSearch) add(file string) {
	if filepath.Base(file) == ".git" {
		s.addGit(file)
		for _, more := range configured(file) {
			more = filepath.Join(paths.RealPath(filepath.Dir(more)), filepath.Base(more)) // the link itself, too
			for _, name := range []string{more, paths.RealPath(more)} {
				if name != s.root && below(s.root, name) {
					s.found = append(s.found, name)
				}
			}
		}
		return
	}
	s.found = append(s.found, file)
	if real, err := filepath.EvalSymlinks(file); err == nil && real != file && below(s.root, real) {
		s.found = append(s.found, real)
	}
}

func (s *guardSearch) search() {
	s.addAll(s.root, guarded.Folder)
	if home, err := os.UserHomeDir(); err == nil {
		if home, err = filepath.EvalSymlinks(home); err == nil {
			s.addAll(home, guarded.Home)
			if home != s.root && below(s.root, home) {
				s.addAll(home, guarded.Folder)
			}
		}
	}
	most := len(s.found) + guardFiles
	s.walk(s.root, func(file string, d fs.DirEntry) (enter bool) {
		rel, err := filepath.Rel(s.root, file)
		switch {
		case err != nil || !guarded.Ends(strings.Split(filepath.ToSlash(rel), "/")):
			return d.Name() != "node_modules"
		case len(s.found) >= most:
			s.cut = true
		default:
			s.add(file)
		}
		return false
	})
}

// addAll adds the entries of a scope, seen from a folder, that are in the root.
func (s *guardSearch) addAll(dir string, scope guarded.Scope) {
	for _, name := range guarded.Paths(scope) {
		if file := filepath.Join(dir, filepath.FromSlash(name)); file != s.root && below(s.root, file) {
			s.add(file)
		}
	}
}

// walk visits the entries of a folder, level by level, and of those folders that see
// enters.
func (s *guardSearch) walk(dir string, see func(file string, d fs.DirEntry) (enter bool)) {
	for todo := []string{dir}; len(todo) > 0; todo = todo[1:] {
		entries, err := s.list(todo[0])
		if err != nil {
			continue // nothing that runs as this user gets in
		}
		for _, d := range entries {
			if s.entries++; s.entries > guardEntries {
				s.cut = true
				return
			}
			if file := filepath.Join(todo[0], d.Name()); see(file, d) && d.IsDir() {
				todo = append(todo, file)
			}
		}
	}
}

// list returns the entries of a folder, up to the bound, in the order of names.
func (s *guardSearch) list(dir string) ([]fs.DirEntry, error) {
	f, err := plainfile.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(guardEntries - s.entries + 1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if err == io.EOF {
		err = nil
	}
	return entries, err
}

// addGit adds the files of a .git that decide which programs git runs. A .git file names
// another folder.
func (s *guardSearch) addGit(git string) {
	info, err := os.Lstat(git)
	if err != nil || !info.IsDir() {
		s.found = append(s.found, git)
		return
	}
	s.found = append(s.found, guardedRepository(git)...)
	s.addModules(git)
	s.walkRepositories(filepath.Join(git, "worktrees"), func(dir string) {
		s.found = append(s.found, guardedWorktree(dir)...)
	})
}

// addModules adds the same of the submodules of a repository.
func (s *guardSearch) addModules(git string) {
	s.walkRepositories(filepath.Join(git, "modules"), func(dir string) {
		s.found = append(s.found, guardedRepository(dir)...)
	})
}

// walkRepositories shows the folders in one that have a HEAD, but those of logs.
func (s *guardSearch) walkRepositories(in string, see func(dir string)) {
	s.walk(in, func(file string, d fs.DirEntry) (enter bool) {
		if dir := filepath.Dir(file); d.Type().IsRegular() && d.Name() == "HEAD" && filepath.Base(dir) != "logs" {
			see(dir)
		}
		return true
	})
}

// guardedWorktree returns the files of a linked worktree's folder in the repository that
// decide which programs git runs, and the worktree's folder.
func guardedWorktree(dir string) (found []string) {
	for _, name := range []string{"config.worktree", "commondir", "gitdir"} {
		found = append(found, filepath.Join(dir, name))
	}
	return found
}

// guardedRepository returns the files of a repository's folder that decide which programs
// git runs. commondir names the folder of another repository's configuration.
func guardedRepository(dir string) (found []string) {
	for _, name := range []string{"config", "config.worktree", "commondir", "hooks", "info/attributes"} {
		found = append(found, filepath.Join(dir, filepath.FromSlash(name)))
	}
	return found
}
