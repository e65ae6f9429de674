package gitworktree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/internal/safefile"
	"github.com/openagent-go/agent/internal/toolapi"
)

// A worktree in the making has a file beside it, which its maker holds locked. If the file
// is not locked, the maker has died: its half-made worktree is removed before the next one
// is made, so that the name is free.

// unfinishedSuffix ends the names of these files. No worktree has such a name.
const unfinishedSuffix = "~making"

// maxUnfinished bounds the bytes read of such a file.
const maxUnfinished = 4 << 10

// An unfinished is the content of the file.
type unfinished struct {
	Base string `json:"base"` // the commit that the branch is made at
}

// begin makes and locks the file for w. done takes it away.
func (w worktree) begin(root *os.Root, base string) (done func() error, err error) {
	name := w.folder() + unfinishedSuffix
	f, err := w.lockUnfinished(root, name)
	if err != nil {
		return nil, err
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt(toolapi.Details(unfinished{base}), 0)
	}
	if err != nil {
		return nil, errors.Join(err, removeOpen(root, name, f))
	}
	return func() error { return removeOpen(root, name, f) }, nil
}

// lockUnfinished opens and locks the file name, which it makes where there is none.
func (w worktree) lockUnfinished(root *os.Root, name string) (*os.File, error) {
	for {
		// A root follows links within it, despite the flags.
		if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a regular file; remove it", filepath.Join(w.From, name))
		}
		f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|safefile.OpenFlags, 0o644)
		if err != nil {
			return nil, fmt.Errorf("recording that the worktree is being made: %w", err)
		}
		named := false
		got, err := safefile.TryLock(f, safefile.Exclusive)
		switch {
		case err == nil && !got:
			err = w.taken()
		case err == nil:
			named, err = isNamed(root, name, f)
		}
		if named {
			return f, nil
		}
		// Without an error, its owner removed the file after we opened it.
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
}

// isNamed reports whether f is still the file called name. Only the owner of the lock
// of that file removes it, so the answer yes holds as long as the lock does.
func isNamed(root *os.Root, name string, f *os.File) (bool, error) {
	now, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	info, err := f.Stat()
	return err == nil && os.SameFile(now, info), err
}

// removeOpen removes a file that we have open. Some systems want it closed before.
func removeOpen(root *os.Root, name string, f *os.File) error {
	err := root.Remove(name)
	closed := f.Close()
	if err != nil {
		err = root.Remove(name)
	}
	return errors.Join(err, closed)
}

// removeUnfinished removes the unfinished worktrees of dead programs in the folder w.From.
func removeUnfinished(ctx context.Context, root *os.Root, g git, w worktree) error {
	folder, err := root.Open(filepath.FromSlash(worktreesFolder))
	if err != nil {
		return err
	}
	names, err := folder.Readdirnames(-1)
	if err = errors.Join(err, folder.Close()); err != nil {
		return err
	}
	for _, file := range names {
		name, ok := strings.CutSuffix(file, unfinishedSuffix)
		if !ok || worktreeName(name) != name {
			continue
		}
		if err := newWorktree(w.From, name).removeIfDead(ctx, root, g); err != nil {
			return err
		}
	}
	return nil
}

// removeIfDead removes w if its maker has died and w was not used.
func (w worktree) removeIfDead(ctx context.Context, root *os.Root, g git) (err error) {
	name := w.folder() + unfinishedSuffix
	f, err := root.OpenFile(name, os.O_RDWR|safefile.OpenFlags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is finished by now
	}
	if err != nil {
		return fmt.Errorf("inspecting an unfinished worktree: %w", err)
	}
	left := true
	defer func() {
		if left {
			err = errors.Join(err, f.Close())
		}
	}()
	if got, err := safefile.TryLock(f, safefile.Exclusive); err != nil || !got {
		return err // its maker is running
	}
	if named, err := isNamed(root, name, f); err != nil || !named {
		return err // without an error, another program has cleared it
	}
	var at unfinished
	data, err := io.ReadAll(io.LimitReader(f, maxUnfinished))
	if err != nil {
		return err
	}
	if json.Unmarshal(data, &at) == nil && at.Base != "" && w.untouched(ctx, root, g, at.Base) {
		if err := unmake(ctx, root, g, w, at.Base, true); err != nil {
			return err
		}
	}
	left = false
	return removeOpen(root, name, f)
}

// untouched reports whether w cannot have been used: it is empty, or was not yet checked
// out in full, and its branch is at its first commit.
func (w worktree) untouched(ctx context.Context, root *os.Root, g git, base string) bool {
	if head, err := g.commit(ctx, w.From, "refs/heads/"+w.Branch); err != nil || head != "" && head != base {
		return false
	}
	entries, err := fs.ReadDir(root.FS(), filepath.ToSlash(w.folder()))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if len(entries) == 0 || len(entries) == 1 && entries[0].Name() == ".git" {
		return true
	}
	if _, err := registered(ctx, g, w); err != nil || g.plain(ctx, w.Path) != nil {
		return false
	}
	index, err := g.line(ctx, w.Path, "rev-parse", "--path-format=absolute", "--git-path", "index")
	if err != nil {
		return false
	}
	if _, err := os.Lstat(index); errors.Is(err, fs.ErrNotExist) {
		return true // git writes it last
	}
	status, err := g.run(ctx, w.Path, "status", "--porcelain", "--untracked-files=all", "--ignore-submodules=all")
	return err == nil && strings.TrimSpace(status) == ""
}
