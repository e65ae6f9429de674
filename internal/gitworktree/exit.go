package gitworktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

type exitWorktreeInput struct {
	Action         string `json:"action,omitempty" jsonschema:"keep (default) or remove"`
	Name           string `json:"name,omitempty" jsonschema:"the current one if not given"`
	ID             string `json:"id,omitempty" jsonschema:"the same as name"`
	Discard        bool   `json:"discard,omitempty" jsonschema:"lose what is only there"`
	DiscardChanges bool   `json:"discard_changes,omitempty" jsonschema:"the same as discard"`
}

func (in exitWorktreeInput) name() string  { return cmp.Or(in.Name, in.ID) }
func (in exitWorktreeInput) discard() bool { return in.Discard || in.DiscardChanges }

const (
	keepWorktree   = "keep"
	removeWorktree = "remove"
)

// Exit returns the tool ExitWorktree, which leads out of a worktree, and removes one
// that [Enter] made under the same folder if that loses nothing.
func Exit(files toolapi.Worktrees) tool.Tool {
	return tool.New(tool.Spec{
		Name: "ExitWorktree", Title: "Leave a worktree", Description: exitWorktreeText, Barrier: true, State: worktreeState,
	}, func(ctx context.Context, call tool.Call, in exitWorktreeInput) (*tool.Result, error) {
		w, here, problem := in.target(call)
		if problem != "" {
			return tool.Errorf("%s", problem), nil
		}
		if cmp.Or(in.Action, keepWorktree) == keepWorktree {
			return keepTree(files, w), nil
		}
		return worktreeResult(ctx, "removed", func() (*tool.Result, error) { return removeTree(ctx, files, call, w, here, in.discard()) })
	}).OnClassify(func(call tool.Call, in exitWorktreeInput) tool.Traits {
		switch w, _, problem := in.target(call); {
		case problem != "":
			return tool.Traits{ReadOnly: true} // it only tells
		case in.Action != removeWorktree:
			return tool.Traits{Internal: true}
		case in.discard():
			return tool.Traits{} // with any content: no mode that trusts edits allows this
		default:
			return tool.Traits{Access: []permission.Access{{Kind: permission.UseName, Target: w.Name}}}
		}
	})
}

// target finds the worktree that a call is about, and whether the run is in it.
func (in exitWorktreeInput) target(call tool.Call) (w worktree, here bool, problem string) {
	now := currentWorktree(call)
	name := in.name()
	switch {
	case in.Action != "" && in.Action != keepWorktree && in.Action != removeWorktree:
		return w, false, fmt.Sprintf("action is %q; it is keep or remove", in.Action)
	case in.Name != "" && in.ID != "" && in.Name != in.ID:
		return w, false, "name and id differ; give one"
	case now != nil && (name == "" || name == now.Name):
		return *now, true, ""
	case name == "" && in.Action == removeWorktree:
		return w, false, "The run is in no worktree; name the one that is to be removed."
	case name == "":
		return w, false, "The run is in no worktree, so there is none to leave."
	case in.Action != removeWorktree:
		return w, false, fmt.Sprintf("The run is not in the worktree %q, so it cannot be left.", name)
	case worktreeName(name) != name:
		return w, false, fmt.Sprintf("There is no worktree %q.", name)
	}
	from := call.Dir
	if now != nil {
		from = now.From
	}
	w = newWorktree(from, name)
	if inFolder(call.Dir, w.Path) {
		return w, false, "The run works in this worktree and did not enter it, so it cannot leave it."
	}
	return w, false, ""
}

// goBack makes r lead the run to where it was before it entered w.
func goBack(files toolapi.Worktrees, r *tool.Result, w worktree) error {
	dir, err := files.Resolve("", w.From)
	if err != nil {
		return err
	}
	if info, err := os.Stat(dir); err != nil {
		return fmt.Errorf("going back to %s: %w", dir, err)
	} else if !info.IsDir() {
		return fmt.Errorf("going back to %s: it is not a folder", dir)
	}
	r.Patch.Dir, r.Patch.State = dir, worktreePatch(nil)
	return nil
}

func keepTree(files toolapi.Worktrees, w worktree) *tool.Result {
	r := new(tool.Result)
	if err := goBack(files, r, w); err != nil {
		return tool.Errorf("The worktree was not left: %v", err)
	}
	text := fmt.Sprintf("Left the worktree. All tools work in %s again. The work is kept in %s, on the branch %s", w.From, w.Path, w.Branch)
	if err := markKept(files, w); err == nil || errors.Is(err, fs.ErrExist) {
		text += fmt.Sprintf("; EnterWorktree with the name %s leads there again.", w.Name)
	} else {
		text += fmt.Sprintf(". EnterWorktree cannot enter it again: %v.", err)
	}
	r.Content = tool.Text(text).Content
	r.Title = "Leave worktree " + w.Name
	r.Details = toolapi.Details(worktreeDetails{worktree: w, Action: keepWorktree, Dir: r.Patch.Dir})
	return r
}

func removeTree(ctx context.Context, files toolapi.Worktrees, call tool.Call, w worktree, here, discard bool) (*tool.Result, error) {
	done := worktreeDetails{worktree: w, Action: removeWorktree, Dir: call.Dir, Discard: discard}
	r := &tool.Result{Title: "Remove worktree " + w.Name}
	if here {
		if err := goBack(files, r, w); err != nil {
			return nil, err
		}
		done.Dir = r.Patch.Dir
	}
	finish := func(text string) (*tool.Result, error) {
		if here {
			text += fmt.Sprintf(" All tools work in %s again.", done.Dir)
		}
		r.Content, r.Details = tool.Text(text).Content, toolapi.Details(done)
		return r, nil
	}
	if err := directPath(files, w); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(w.Path); errors.Is(err, fs.ErrNotExist) {
		if !here {
			return nil, fmt.Errorf("there is no %s", w.Path)
		}
		return finish(fmt.Sprintf("%s was gone already. Its branch %s, if there is one, was not touched.", w.Path, w.Branch))
	}
	g := git{files}
	shared, err := registered(ctx, g, w)
	if err != nil {
		return nil, err
	}
	tip, err := g.commit(ctx, w.From, "refs/heads/"+w.Branch)
	if err != nil {
		return nil, err
	}
	if !discard {
		lost, err := losses(ctx, g, w, tip)
		if err != nil {
			return nil, err
		}
		if lost != "" {
			return tool.Errorf("%s was not removed, because this would be lost:\n%s\nCommit it, merge the branch %s or move the work elsewhere; or leave with action keep; or set discard if the user agrees to lose it.",
				w.Path, lost, w.Branch), nil
		}
	}
	// From here on nothing stops the removal: half a tree is of no use.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidying)
	defer cancel()
	marked, err := takeMark(files, w) // so that no session enters it now
	if err != nil {
		return nil, err
	}
	args := []string{"worktree", "remove"}
	if discard {
		args = append(args, "--force")
	}
	if _, err := g.run(ctx, w.From, append(args, "--", w.Path)...); err != nil {
		if marked {
			err = errors.Join(err, markKept(files, w))
		}
		return nil, err
	}
	r.Patch.Happened = w.happened("WorktreeRemove")
	text := fmt.Sprintf("Removed %s", w.Path)
	switch {
	case tip == "":
		text += "."
	case shared:
		text += fmt.Sprintf(". The branch %s is checked out elsewhere and stays.", w.Branch)
	default:
		if _, err := g.run(ctx, w.From, "update-ref", "-d", "refs/heads/"+w.Branch, tip); err != nil {
			text += fmt.Sprintf(". The branch %s stays: %v", w.Branch, err)
			break
		}
		done.Head = tip
		text += fmt.Sprintf(" and the branch %s, which was at %s.", w.Branch, tip)
	}
	return finish(text)
}

// registered returns an error unless git knows the folder of w as a worktree of
// the repository that it was made from. shared tells whether the branch is
// checked out in another one as well.
func registered(ctx context.Context, g git, w worktree) (shared bool, err error) {
	list, err := g.run(ctx, w.From, "worktree", "list", "--porcelain")
	if err != nil {
		return false, err
	}
	known, path := false, ""
	for line := range strings.Lines(list) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		switch {
		case key == "worktree":
			path = value
			known = known || sameFile(path, w.Path)
		case key == "branch" && value == "refs/heads/"+w.Branch:
			shared = shared || !sameFile(path, w.Path)
		}
	}
	if !known {
		return false, fmt.Errorf("%s is not a worktree of the repository in %s", w.Path, w.From)
	}
	// The file .git in the worktree may have been changed to lead elsewhere.
	ours, err := g.line(ctx, w.From, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return false, err
	}
	its, err := g.run(ctx, w.Path, "rev-parse", "--path-format=absolute", "--git-common-dir", "--show-toplevel")
	if err != nil {
		return false, err
	}
	its = strings.ReplaceAll(strings.TrimRight(its, "\r\n"), "\r\n", "\n")
	if dir, top, _ := strings.Cut(its, "\n"); !sameFile(dir, ours) || !sameFile(top, w.Path) {
		return false, fmt.Errorf("the file .git in %s does not lead to the repository in %s", w.Path, w.From)
	}
	if err := g.plain(ctx, w.From); err != nil {
		return false, err
	}
	return shared, g.plain(ctx, w.Path)
}

// sameFile reports whether two paths lead to one place.
func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// losses lists the content that only the worktree w has: files, and the commits of its HEAD
// and its branch that are in no other branch or tag and on no remote. Files that git was
// told not to look at count as changed.
func losses(ctx context.Context, g git, w worktree, tip string) (string, error) {
	hidden, err := unseenFiles(ctx, g, w)
	if err != nil {
		return "", err
	}
	// A submodule has its own settings, which may name programs: git does not enter it.
	status, err := g.run(ctx, w.Path, "status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=dirty", "--no-renames")
	if err != nil {
		return "", err
	}
	head, err := g.commit(ctx, w.Path, "HEAD")
	if err != nil {
		return "", err
	}
	main, err := g.commit(ctx, w.From, "HEAD")
	if err != nil {
		return "", err
	}
	args := []string{"rev-list", "--oneline", fmt.Sprintf("--max-count=%d", maxLosses+1)}
	var from []string
	for _, c := range []string{head, tip} {
		if c != "" {
			from = append(from, c)
		}
	}
	commits := ""
	if from != nil {
		args = append(append(args, from...), "--not", "--exclude="+w.Branch, "--branches", "--remotes", "--tags")
		if main != "" {
			args = append(args, main)
		}
		if commits, err = g.run(ctx, w.Path, args...); err != nil {
			return "", err
		}
	}
	return strings.TrimSuffix(lossList("changed or untracked files", status)+
		lossList("files that may be changed (marked skip-worktree or assume-unchanged)", hidden.marked)+
		lossList("submodules, which were not looked into", hidden.modules)+
		lossList("commits on no other branch", commits), "\n"), nil
}

// lossList returns the first lines under a heading, "" if there are none.
func lossList(heading, lines string) string {
	if lines == "" {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s:\n", heading)
	n := 0
	for line := range strings.Lines(lines) {
		if n++; n > maxLosses {
			b.WriteString("  and more\n")
			break
		}
		fmt.Fprintf(&b, "  %s\n", text.Bytes(strings.TrimRight(line, "\r\n"), maxLossLine))
	}
	return b.String()
}

// maxLossLine bounds a line that the model is shown, in bytes.
const maxLossLine = 200
