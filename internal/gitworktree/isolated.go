package gitworktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
)

// A Worktree is a git worktree of an agent that works apart from others.
type Worktree struct {
	Name   string // of the worktree
	Path   string // of the worktree
	Dir    string // the folder in it that stands for the one it was made from
	Branch string // of git, that is checked out there

	tree worktree
	git  git
	base string // the commit that was checked out
}

// Make makes a git worktree under .openagent/worktrees of the folder from, as
// [Enter] does. For a session and a call that have made one already, as before
// a crash, it returns that one.
func Make(ctx context.Context, files toolapi.Worktrees, from, session, call string) (*Worktree, error) {
	from, err := files.Resolve(from, ".")
	if err != nil {
		return nil, err
	}
	g := git{files}
	prefix, base, err := repository(ctx, g, from)
	if err != nil {
		return nil, err
	}
	w := newWorktree(from, madeUpName(session, call))
	if err := directPath(files, w); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(w.Path); err == nil {
		if _, err := registered(ctx, g, w); err != nil {
			return nil, err
		}
		if base, err = g.line(ctx, w.Path, "merge-base", "HEAD", base); err != nil {
			return nil, err
		}
		if _, err := takeMark(files, w); err != nil { // no session can enter it in the meantime
			return nil, err
		}
	} else if err := makeWorktree(ctx, files, g, w, base); err != nil {
		return nil, err
	}
	dir := w.entered(files, prefix, base, "").Patch.Dir
	return &Worktree{Name: w.Name, Path: w.Path, Dir: dir, Branch: w.Branch, tree: w, git: g, base: base}, nil
}

// Origin returns the folder from which [Make] has made the worktree of a
// session and a call that dir lies in; it reports false if dir lies in no such one.
func Origin(dir, session, call string) (from string, ok bool) {
	below := string(filepath.Separator) + filepath.Join(filepath.FromSlash(worktreesFolder), madeUpName(session, call))
	from, rest, ok := strings.Cut(dir, below)
	return from, ok && (rest == "" || rest[0] == filepath.Separator)
}

// Exists reports whether the worktree of a session and a call that [Make] has
// made from a folder is still there.
func Exists(files toolapi.Worktrees, from, session, call string) bool {
	root, _, err := toolapi.OpenRoot(files, "", from)
	if err != nil {
		return false
	}
	defer root.Close()
	info, err := root.Lstat(newWorktree(from, madeUpName(session, call)).folder())
	return err == nil && info.IsDir()
}

// Changes lists the differences from the commit that was checked out: a line for each file,
// including untracked ones. It is empty if there are none.
func (w *Worktree) Changes(ctx context.Context) (string, error) {
	stat, err := w.git.run(ctx, w.Path, "diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--stat=100", w.base)
	if err != nil {
		return "", err
	}
	status, err := w.git.run(ctx, w.Path, "status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=dirty", "--no-renames")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(clipLines(stat, maxLosses))
	for line := range strings.Lines(status) {
		if name, ok := strings.CutPrefix(line, "?? "); ok {
			fmt.Fprintf(&b, " %s (new)\n", text.Bytes(strings.TrimSpace(name), maxLossLine))
		}
	}
	return strings.TrimRight(clipLines(b.String(), 2*maxLosses), "\n"), nil
}

func clipLines(text string, most int) string {
	lines := strings.SplitAfter(text, "\n")
	if len(lines) <= most {
		return text
	}
	return strings.Join(lines[:most], "") + " and more\n"
}

// Remove removes the worktree and its branch, unless something would be lost, which it
// says.
func (w *Worktree) Remove(ctx context.Context, files toolapi.Worktrees) (lost string, err error) {
	if _, err := registered(ctx, w.git, w.tree); err != nil {
		return "", err
	}
	tip, err := w.git.commit(ctx, w.tree.From, "refs/heads/"+w.Branch)
	if err != nil {
		return "", err
	}
	if lost, err = losses(ctx, w.git, w.tree, tip); lost != "" || err != nil {
		return lost, err
	}
	if _, err := w.git.run(ctx, w.tree.From, "worktree", "remove", "--", w.Path); err != nil {
		return "", err
	}
	if tip == "" {
		return "", nil
	}
	_, err = w.git.run(ctx, w.tree.From, "update-ref", "-d", "refs/heads/"+w.Branch, tip)
	return "", err
}

// Keep lets EnterWorktree enter the worktree by its name.
func (w *Worktree) Keep(files toolapi.Worktrees) error {
	if err := markKept(files, w.tree); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}
