package gitworktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/tool"
)

// A worktree that its session has left and kept has a mark beside it, an empty file. A
// session that enters it removes the mark. Only one of several sessions gets it, and none
// enters a worktree whose session is still in it or was only interrupted.
//
// A session that is forked or rewound into a worktree is there without a mark.

// mark is the path of the mark in the folder w.From. No worktree has such a name.
func (w worktree) mark() string {
	return filepath.Join(filepath.FromSlash(worktreesFolder), w.Name+"~kept")
}

// folder is the path of w in the folder w.From.
func (w worktree) folder() string { return filepath.Join(filepath.FromSlash(worktreesFolder), w.Name) }

// markKept marks w as free for a session.
func markKept(files toolapi.Worktrees, w worktree) error {
	root, _, err := toolapi.OpenRoot(files, "", w.From)
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.Lstat(w.folder()); err != nil {
		return err
	}
	f, err := root.OpenFile(w.mark(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// takeMark takes the mark of w away and reports whether there was one.
func takeMark(files toolapi.Worktrees, w worktree) (bool, error) {
	root, _, err := toolapi.OpenRoot(files, "", w.From)
	if err != nil {
		return false, err
	}
	defer root.Close()
	switch err := root.Remove(w.mark()); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("taking the mark of the worktree: %w", err)
	}
	return true, nil
}

// kept reports whether w is there and marked.
func kept(files toolapi.Worktrees, w worktree) (bool, error) {
	root, _, err := toolapi.OpenRoot(files, "", w.From)
	if err != nil {
		return false, err
	}
	defer root.Close()
	for _, name := range []string{w.folder(), w.mark()} {
		if _, err := root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	return true, nil
}

// enterKept leads the run into a worktree that was kept, if git knows it as one of
// the repository.
func enterKept(ctx context.Context, files toolapi.Worktrees, g git, w worktree, prefix string) (*tool.Result, error) {
	if _, err := registered(ctx, g, w); err != nil {
		return nil, err
	}
	head, err := g.commit(ctx, w.Path, "HEAD")
	if err != nil {
		return nil, err
	}
	branch, err := g.line(ctx, w.Path, "symbolic-ref", "--quiet", "--short", "HEAD")
	var failed *gitError
	if errors.As(err, &failed) && failed.code == 1 {
		branch, err = "(none)", nil
	}
	if err != nil {
		return nil, err
	}
	switch free, err := takeMark(files, w); {
	case err != nil:
		return nil, err
	case !free:
		return nil, w.taken()
	}
	return w.entered(files, prefix, head, fmt.Sprintf("Entered the worktree %s, which was kept, on the branch %s at %.12s.", w.Path, branch, head)), nil
}
