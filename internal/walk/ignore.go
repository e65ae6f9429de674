package walk

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/internal/gitignore"
)

// maxIgnore is the size in bytes of the largest ignore file that is read.
const maxIgnore = 1 << 20

// Above returns the ignore rules that the folders above dir put in force there, and the
// path of dir from the folder where they begin. dir is absolute and free of symlinks. The
// rules begin at the top of its git repository, else at top, a folder above dir. An ignored
// dir is free of rules: a caller that names it wants to see it.
func Above(dir, top string) (rules *gitignore.Rules, prefix string) {
	var above []string // innermost first
	at := dir
	for !isRepository(at) {
		parent := filepath.Dir(at)
		if parent == at { // no repository
			above, at = climb(dir, top)
			break
		}
		at = parent
		above = append(above, at)
	}
	rel, err := filepath.Rel(at, dir)
	if err != nil || rel == "." {
		return nil, ""
	}
	prefix = filepath.ToSlash(rel)
	for i := len(above) - 1; i >= 0; i-- {
		inner := dir
		if i > 0 {
			inner = above[i-1]
		}
		here, err1 := filepath.Rel(at, above[i])
		next, err2 := filepath.Rel(at, inner)
		if err := errors.Join(err1, err2); err != nil {
			return nil, ""
		}
		rules = enterPath(above[i], rules, slash(here))
		if rules.Ignores(slash(next), true) {
			return nil, ""
		}
	}
	return rules, prefix
}

// climb lists the folders from above dir up to top. It is empty if dir does not
// lie below top.
func climb(dir, top string) (above []string, last string) {
	for at := dir; at != top; {
		parent := filepath.Dir(at)
		if parent == at {
			return nil, dir
		}
		at = parent
		above = append(above, at)
	}
	return above, top
}

func slash(rel string) string {
	if rel == "." {
		return ""
	}
	return filepath.ToSlash(rel)
}

func isRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

func enterPath(dir string, rules *gitignore.Rules, path string) *gitignore.Rules {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return rules // an unreadable file has no rules for us
	}
	defer root.Close()
	at, err := OpenFolder(root)
	if err != nil {
		return rules
	}
	defer at.Close()
	return enter(root, at, "", rules, path)
}

// enter returns the rules in force in the current folder, which is dir under root and path
// for the rules: a repository within another starts with none.
func enter(root *os.Root, at *Folder, dir string, rules *gitignore.Rules, path string) *gitignore.Rules {
	if _, err := at.lstat(".git"); err == nil {
		rules = repository(filepath.Join(root.Name(), filepath.FromSlash(dir)), path)
	}
	about, err := at.lstat(".gitignore")
	if err != nil || !about.mode.IsRegular() || about.size > maxIgnore { // git reads no symlink either
		return rules
	}
	f, err := at.Open(".gitignore")
	if err != nil {
		return rules
	}
	return rules.With(path, content(f))
}

// content reads an ignore file and closes it; nil if it cannot be read.
func content(f io.ReadCloser) []byte {
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxIgnore))
	if err != nil {
		return nil
	}
	return data
}
