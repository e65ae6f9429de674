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
	"github.com/openagent-go/agent/permission"
)

const (
	// guardEntries bounds how many files are looked at in a root, those of the upper
	// folders first.
	guardEntries = 20_000
	// guardFiles bounds what is found below the top of a root: each file costs
	// every command a mount.
	guardFiles = 500
)

// Guarded returns what belongs into [Policy].ReadOnly for the folders in Write:
// the files of agents, editors, git, shells and build tools that decide what runs
// later or what is permitted (see [guarded.Paths]). Those that a project or the home
// folder has at its top are named whether they exist or not, but for those in
// [guarded.Existing]; farther down, except in node_modules, those that exist. Of a
// repository these are the hooks and the configuration, also where core.hooksPath and
// include.path say that they are, and those of its submodules and worktrees; a place
// where there is no repository cannot become one.
//
// In unsearched are the folders that hold too much for all of it to be looked at.
func Guarded(write []string) (files, unsearched []string) {
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

// A guardSearch looks for what is guarded in a root.
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
			more = filepath.Join(permission.RealPath(filepath.Dir(more)), filepath.Base(more)) // the link itself, too
			for _, name := range []string{more, permission.RealPath(more)} {
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

// walk shows what is in a folder, level by level, and in those folders that see
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

// list is what is in a folder, as far as it is looked at, in the order of names.
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

// addGit adds what of a .git decides what git runs. A .git that is a file says where
// another is.
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

// guardedWorktree returns what of a linked worktree's folder in the repository decides
// what git runs, and where it works.
func guardedWorktree(dir string) (found []string) {
	for _, name := range []string{"config.worktree", "commondir", "gitdir"} {
		found = append(found, filepath.Join(dir, name))
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
