// Package worktrees finds the git worktrees of a repository without running git.
//
//	copies := worktrees.Of("/src/project") // where the same folder is in the other worktrees
package worktrees

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/plainfile"
)

// Of returns where a folder is in the other worktrees of its git repository: each holds
// another copy of the files that the rules of the folder are about. A folder outside of a
// repository has none. The folder is clean and has no links in it.
func Of(folder string) []string {
	top, common := repositoryOf(folder)
	if common == "" {
		return nil
	}
	var tops []string
	if filepath.Base(common) == ".git" {
		tops = append(tops, filepath.Dir(common))
	}
	entries, _ := os.ReadDir(filepath.Join(common, "worktrees")) // most have none
	for _, e := range entries {
		admin := filepath.Join(common, "worktrees", e.Name())
		if file := pathIn(filepath.Join(admin, "gitdir"), "", admin); file != "" {
			tops = append(tops, filepath.Dir(file))
		}
	}
	for _, t := range tops {
		made := filepath.Join(t, ".openagent", "worktrees")
		entries, _ := os.ReadDir(made) // those that git has forgotten are there as well
		for _, e := range entries {
			if e.IsDir() { // the others are marks
				tops = append(tops, filepath.Join(made, e.Name()))
			}
		}
	}
	inside := strings.TrimPrefix(folder, top)
	var out []string
	for _, t := range tops {
		real, _ := filepath.EvalSymlinks(t) // a worktree that is gone has no other path
		for _, t := range slices.Compact([]string{t, real}) {
			if info, err := os.Lstat(t); err == nil && info.Mode().IsRegular() {
				continue // something else is there by now
			}
			if t != "" && t != top && !slices.Contains(out, t+inside) {
				out = append(out, t+inside)
			}
		}
	}
	return out
}

// repositoryOf returns the top of the worktree that a folder is in, and the folder that all
// worktrees of its repository share; "" if there is none.
func repositoryOf(folder string) (top, common string) {
	for top = folder; ; top = filepath.Dir(top) {
		git := filepath.Join(top, ".git")
		info, err := os.Lstat(git)
		switch {
		case err != nil:
		case info.IsDir():
			return top, git
		case info.Mode().IsRegular():
			admin := pathIn(git, "gitdir:", top)
			if admin == "" {
				return top, ""
			}
			if shared := pathIn(filepath.Join(admin, "commondir"), "", admin); shared != "" {
				return top, shared
			}
			return top, admin
		}
		if top == filepath.Dir(top) {
			return top, ""
		}
	}
}

// maxPathFile bounds a file of git that holds a path.
const maxPathFile = 64 << 10

// pathIn returns the path, made absolute, after a word in a file of git; "" if there is
// none.
func pathIn(file, word, from string) string {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxPathFile {
		return ""
	}
	data, err := plainfile.ReadFile(file, maxPathFile)
	if err != nil {
		return ""
	}
	text, ok := strings.CutPrefix(strings.TrimSpace(string(data)), word)
	if text = strings.TrimSpace(text); !ok || text == "" || strings.ContainsRune(text, 0) {
		return ""
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(from, text)
	}
	return filepath.Clean(text)
}
