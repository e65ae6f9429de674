// Package gitworktree makes, enters and leaves git worktrees: for the tools EnterWorktree and
// ExitWorktree, and for sub-agents that work apart from their parent.
package gitworktree

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

//go:embed enterworktree.md
var enterWorktreeText string

//go:embed exitworktree.md
var exitWorktreeText string

const (
	// worktreesFolder holds the worktrees, in the folder that the run works in.
	worktreesFolder = ".openagent/worktrees"
	// worktreeState is the slot of the session's state that says where it is.
	worktreeState = "worktree"
	// tidying bounds the time for removing worktrees and unfinished ones: a cancelled call
	// does not leave either half-done.
	tidying = time.Minute
	// maxLosses is how many files and commits that would be lost are listed.
	maxLosses = 20
)

// A worktree is the session's record of the worktree that it is in.
type worktree struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Branch string `json:"branch"`
	From   string `json:"from"` // the directory before
}

// worktreeDetails are the Details of a result.
type worktreeDetails struct {
	worktree
	Base    string `json:"base,omitempty"`   // the commit that is checked out on entering
	Head    string `json:"head,omitempty"`   // the commit that a removed branch was at
	Action  string `json:"action,omitempty"` // keep or remove
	Dir     string `json:"dir"`              // where the run is now
	Discard bool   `json:"discarded,omitempty"`
}

func newWorktree(from, name string) worktree {
	return worktree{Name: name, Path: filepath.Join(from, filepath.FromSlash(worktreesFolder), name), Branch: "worktree-" + name, From: from}
}

// currentWorktree returns the worktree that the run is in, nil if it is in none. A
// session whose agent works elsewhere now has left it.
func currentWorktree(call tool.Call) *worktree {
	var state struct{ Current *worktree }
	if len(call.State) == 0 || json.Unmarshal(call.State, &state) != nil || state.Current == nil {
		return nil
	}
	w := state.Current
	if *w != newWorktree(w.From, worktreeName(w.Name)) || w.Name == "" || !inFolder(call.Dir, w.Path) {
		return nil
	}
	return w
}

// inFolder reports whether path is folder or below it. Both are absolute and clean.
func inFolder(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// worktreePatch is the change to the session's state that says where it is.
func worktreePatch(w *worktree) json.RawMessage {
	return toolapi.Details(map[string]*worktree{"Current": w})
}

type enterWorktreeInput struct {
	Name string `json:"name,omitempty" jsonschema:"made up if not given"`
}

func (in enterWorktreeInput) name(call tool.Call) string {
	return cmp.Or(worktreeName(in.Name), madeUpName(call.Session, call.ID))
}

// Enter returns the tool EnterWorktree that makes a git worktree under .openagent/worktrees of
// the working directory of the run, on the branch worktree-<name>, and moves the run there.
// The folder is hidden from git. A worktree that was left with [Exit]'s keep is
// entered again by its name. Any other name that exists is an error: a second session in
// the same worktree would work on the same files.
func Enter(files toolapi.Worktrees) tool.Tool {
	return tool.New(tool.Spec{
		Name: "EnterWorktree", Title: "Enter a worktree", Description: enterWorktreeText, NonDestructive: true, Barrier: true, State: worktreeState,
	}, func(ctx context.Context, call tool.Call, in enterWorktreeInput) (*tool.Result, error) {
		if w := currentWorktree(call); w != nil {
			return tool.Errorf("The run is in the worktree %s (%s) already; leave it with ExitWorktree first.", w.Name, w.Path), nil
		}
		return worktreeResult(ctx, "made", func() (*tool.Result, error) { return enterWorktree(ctx, files, call, in.name(call)) })
	}).OnClassify(func(call tool.Call, in enterWorktreeInput) tool.Traits {
		name := worktreeName(in.Name)
		if name == "" { // a rule for the one that is made up would never hold again
			return tool.Traits{}
		}
		return tool.Traits{Access: []permission.Access{{Kind: permission.UseName, Target: name}}}
	})
}

// worktreeResult reports a failure to the model.
func worktreeResult(ctx context.Context, what string, do func() (*tool.Result, error)) (*tool.Result, error) {
	r, err := do()
	switch {
	case err == nil:
		return r, nil
	case ctx.Err() != nil:
		return nil, err
	}
	return tool.Errorf("No worktree was %s: %v", what, err), nil
}

func enterWorktree(ctx context.Context, files toolapi.Worktrees, call tool.Call, name string) (*tool.Result, error) {
	from, err := files.Resolve(call.Dir, ".")
	if err != nil {
		return nil, err
	}
	g := git{files}
	prefix, base, err := repository(ctx, g, from)
	if err != nil {
		return nil, err
	}
	w := newWorktree(from, name)
	if err := directPath(files, w); err != nil {
		return nil, err
	}
	switch free, err := kept(files, w); {
	case err != nil:
		return nil, err
	case free:
		return enterKept(ctx, files, g, w, prefix)
	}
	tool.Progress(ctx, tool.Status{Text: "Checking out " + w.Path})
	if err := makeWorktree(ctx, files, g, w, base); err != nil {
		return nil, err
	}
	r := w.entered(files, prefix, base, fmt.Sprintf("Made the worktree %s on the branch %s, from %.12s.", w.Path, w.Branch, base))
	r.Patch.Happened = w.happened("WorktreeCreate")
	return r, nil
}

// happened describes w for hooks.
func (w worktree) happened(event string) []tool.SideEvent {
	return []tool.SideEvent{{Event: event, Fields: map[string]string{"name": w.Name, "worktree_path": w.Path}}}
}

// entered is the result that leads the run into w, to the folder in it that it is
// in now.
func (w worktree) entered(files toolapi.Worktrees, prefix, head, text string) *tool.Result {
	dir := w.Path
	if info, err := os.Stat(filepath.Join(w.Path, prefix)); err == nil && info.IsDir() {
		dir = filepath.Join(w.Path, prefix)
	}
	if real, err := files.Resolve("", dir); err == nil && inFolder(real, w.Path) {
		dir = real
	} else {
		dir = w.Path // the folder is a symlink in this commit
	}
	r := tool.Text(fmt.Sprintf("%s All tools work in %s now. Changes in %s that are not committed stayed there.", text, dir, w.From))
	r.Title = "Enter worktree " + w.Name
	r.Details = toolapi.Details(worktreeDetails{worktree: w, Base: head, Dir: dir})
	r.Patch.Dir, r.Patch.State = dir, worktreePatch(&w)
	return r
}

// taken is the error for a name that is not free.
func (w worktree) taken() error {
	return fmt.Errorf("the name %s is taken; choose another. Only a worktree that was left with ExitWorktree keep can be entered again. What is in this one or its branch (%s, %s) can be used with git",
		w.Name, w.Path, w.Branch)
}

// repository looks at the repository that dir is in: the path of dir in it, and
// the commit that is checked out.
func repository(ctx context.Context, g git, dir string) (prefix, head string, err error) {
	out, err := g.line(ctx, dir, "rev-parse", "--is-inside-work-tree", "--show-prefix")
	var failed *gitError
	if errors.As(err, &failed) && strings.Contains(failed.text, "not a git repository") {
		return "", "", fmt.Errorf("%s is not in a git repository", dir)
	}
	if err != nil {
		return "", "", err
	}
	inside, prefix, _ := strings.Cut(out, "\n")
	if strings.TrimRight(inside, "\r") != "true" {
		return "", "", fmt.Errorf("%s is in a git repository, but not among its files", dir)
	}
	if err := g.plain(ctx, dir); err != nil {
		return "", "", err
	}
	if head, err = g.commit(ctx, dir, "HEAD"); err == nil && head == "" {
		err = errors.New("the repository has no commit yet; make one first")
	}
	return filepath.FromSlash(prefix), head, err
}

// makeWorktree makes the folder and the branch of w, both or none. It claims each by
// creating it where there was nothing. If two callers ask for one name, one gets it and
// neither removes the work of the other.
func makeWorktree(ctx context.Context, files toolapi.Worktrees, g git, w worktree, base string) (err error) {
	root, _, err := toolapi.OpenRoot(files, "", w.From)
	if err != nil {
		return err
	}
	defer root.Close()
	folder := filepath.FromSlash(worktreesFolder)
	if err := root.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making the folder of worktrees: %w", err)
	}
	if err := hideFromGit(root, filepath.Join(folder, ".gitignore")); err != nil {
		return err
	}
	if err := removeUnfinished(ctx, root, g, w); err != nil {
		return err
	}
	done, err := w.begin(root, base)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if old, err := g.commit(ctx, w.From, "refs/heads/"+w.Branch); err != nil {
		return err
	} else if old != "" {
		return w.taken()
	}
	// A worktree that was removed by hand has left its mark.
	if err := root.Remove(w.mark()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing an old mark: %w", err)
	}
	if err := root.Mkdir(w.folder(), 0o755); errors.Is(err, fs.ErrExist) {
		return w.taken()
	} else if err != nil {
		return fmt.Errorf("making the folder of the worktree: %w", err)
	}
	branch := false
	defer func() {
		if err != nil {
			err = errors.Join(err, unmake(ctx, root, g, w, base, branch))
		}
	}()
	if _, err := g.run(ctx, w.From, "update-ref", "refs/heads/"+w.Branch, base, ""); err != nil {
		branch = ctx.Err() != nil // perhaps it was made before the end came
		return err
	}
	branch = true
	if _, err := g.run(ctx, w.From, "worktree", "add", "--no-checkout", "--", w.Path, w.Branch); err != nil {
		return err
	}
	if err := g.plain(ctx, w.Path); err != nil { // some settings may hold there only
		return err
	}
	_, err = g.run(ctx, w.Path, "reset", "--hard", "--quiet", "--no-recurse-submodules")
	return err
}

// directPath returns an error if the path of w leads through symlinks: a repository
// may hold one in the place of our folder.
func directPath(files toolapi.Worktrees, w worktree) error {
	real, err := files.Resolve("", w.Path)
	if err != nil {
		return err
	}
	if real != w.Path {
		return fmt.Errorf("%s leads to %s; worktrees are made only under the working directory", w.Path, real)
	}
	return nil
}

// hideFromGit keeps the worktrees out of the status of the tree that they are in.
func hideFromGit(root *os.Root, name string) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		_, err = f.WriteString("*\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("hiding the worktrees from git: %w", err)
	}
	return nil
}

// unmake removes an unfinished worktree, even if the call was cancelled.
func unmake(ctx context.Context, root *os.Root, g git, w worktree, base string, branch bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidying)
	defer cancel()
	_, _ = g.run(ctx, w.From, "worktree", "remove", "--force", "--force", "--", w.Path) // fails if git has not begun
	err := root.RemoveAll(w.folder())
	_, _ = g.run(ctx, w.From, "worktree", "remove", "--force", "--force", "--", w.Path) // git may have known it without its file .git
	if branch {
		// A git that was killed may have left its lock. The branch's name is ours alone.
		if lock, e := g.line(ctx, w.From, "rev-parse", "--path-format=absolute", "--git-path", "refs/heads/"+w.Branch+".lock"); e == nil {
			_ = os.Remove(lock)
		}
		if old, e := g.commit(ctx, w.From, "refs/heads/"+w.Branch); e == nil && old == base {
			_, e = g.run(ctx, w.From, "update-ref", "-d", "refs/heads/"+w.Branch, base)
			err = errors.Join(err, e)
		}
	}
	if err != nil {
		return fmt.Errorf("removing the unfinished worktree %s: %w", w.Path, err)
	}
	return nil
}
