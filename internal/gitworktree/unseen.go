package gitworktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/internal/plainfile"
)

// maxIndexEntry is the length in bytes of the longest entry of an index that is read.
const maxIndexEntry = 64 << 10

// unseen lists files in a worktree and its index that git's status does not report. Each
// kind has one line per listed file, and one more if there are others.
type unseen struct {
	marked  string // taken for unchanged because of a mark: skip-worktree, assume-unchanged
	modules string // submodules with something in them
}

// unseenFiles reads the index of the worktree w.
func unseenFiles(ctx context.Context, g git, w worktree) (u unseen, err error) {
	root, err := os.OpenRoot(w.Path)
	if err != nil {
		return u, fmt.Errorf("opening the worktree: %w", err)
	}
	defer root.Close()
	marked, modules := 0, 0
	list := &entries{each: func(entry string) {
		// "H 100644 OBJECT STAGE<tab>PATH"; the letter is S for skip-worktree and a
		// small one for assume-unchanged.
		info, name, _ := strings.Cut(entry, "\t")
		letter, rest, _ := strings.Cut(info, " ")
		name = filepath.FromSlash(name)
		switch {
		case strings.HasPrefix(rest, "160000 "):
			if modules <= maxLosses && holdsSomething(root, name) {
				modules++
				u.modules += fmt.Sprintf("%q\n", name)
			}
		case letter == "S" || letter == strings.ToLower(letter):
			if _, err := root.Lstat(name); marked <= maxLosses && !errors.Is(err, fs.ErrNotExist) {
				marked++
				u.marked += fmt.Sprintf("%q\n", name)
			}
		}
	}}
	if err := g.to(ctx, list, w.Path, "ls-files", "-v", "--stage", "-z"); err != nil {
		return u, err
	}
	if list.broken {
		return u, fmt.Errorf("reading the index of %s: an entry has more than %d bytes", w.Path, maxIndexEntry)
	}
	return u, nil
}

// holdsSomething reports whether there is something at name but an empty folder.
func holdsSomething(root *os.Root, name string) bool {
	f, err := plainfile.OpenFolderIn(root, name)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	_, err = f.ReadDir(1)
	return !errors.Is(err, io.EOF)
}

// entries passes on the data written to it, up to each NUL.
type entries struct {
	each   func(entry string)
	rest   []byte
	broken bool // an entry was too long
}

func (e *entries) Write(p []byte) (int, error) {
	n := len(p)
	for {
		end := bytes.IndexByte(p, 0)
		if end < 0 {
			break
		}
		e.each(string(append(e.rest, p[:end]...)))
		e.rest, p = e.rest[:0], p[end+1:]
	}
	if len(e.rest)+len(p) > maxIndexEntry {
		e.broken, p = true, nil
	}
	e.rest = append(e.rest, p...)
	return n, nil
}
