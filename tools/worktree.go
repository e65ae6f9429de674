package tools

import (
	"github.com/openagent-go/agent/internal/gitworktree"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

// EnterWorktree returns the tool that makes a git worktree under .openagent/worktrees of
// the working directory of the run, on the branch worktree-<name>, and moves the run there.
// The folder is hidden from git. A worktree that was left with [ExitWorktree]'s keep is
// entered again by its name. Any other name that exists is an error: a second session in
// the same worktree would work on the same files.
func EnterWorktree(ws *workspace.Workspace) tool.Tool { return gitworktree.Enter(ws) }

// ExitWorktree returns the tool that leads out of a worktree, and removes one
// that [EnterWorktree] made under the same folder if that loses nothing.
func ExitWorktree(ws *workspace.Workspace) tool.Tool { return gitworktree.Exit(ws) }
