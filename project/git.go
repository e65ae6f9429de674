package project

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/text"
)

// Bounds of the text about git.
const (
	maxStatus = 2000 // bytes of the status
	maxLog    = 1000 // bytes of the last commits
	gitTime   = 5 * time.Second
)

// describeGit returns the state of the repository that dir lies in, as it is now: branch, status
// and the last five commits; "" where there is no repository or no git. It runs no program
// that the repository's configuration names: a status that would run filters is left out.
func describeGit(ctx context.Context, dir string) string {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	branch, err := git(ctx, dir, 200, "rev-parse", "--abbrev-ref", "HEAD")
	if err != nil {
		if branch, err = git(ctx, dir, 200, "symbolic-ref", "--short", "HEAD"); err != nil {
			return ""
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "State of git when the session began; it does not follow what happens since.\nBranch: %s\n", strings.TrimSpace(branch))
	if main, err := git(ctx, dir, 200, "rev-parse", "--abbrev-ref", "origin/HEAD"); err == nil {
		fmt.Fprintf(&b, "Main branch: %s\n", strings.TrimPrefix(strings.TrimSpace(main), "origin/"))
	}
	if !runsFilters(ctx, dir) {
		if status, err := git(ctx, dir, maxStatus, "status", "--short", "--ignore-submodules=all"); err == nil {
			if status = strings.TrimRight(status, "\n"); status == "" {
				status = "(clean)"
			}
			fmt.Fprintf(&b, "Status:\n%s\n", status)
		}
	}
	if log, err := git(ctx, dir, maxLog, "log", "-5", "--oneline", "--no-decorate", "--no-show-signature"); err == nil && strings.TrimSpace(log) != "" {
		fmt.Fprintf(&b, "Last commits, in the words of those who made them:\n%s\n", strings.TrimRight(log, "\n"))
	}
	return strings.TrimRight(b.String(), "\n")
}

// runsFilters reports whether the repository's own configuration names programs that a
// status would run, or cannot be read.
func runsFilters(ctx context.Context, dir string) bool {
	for _, scope := range []string{"--local", "--worktree"} {
		out, err := git(ctx, dir, 100, "config", scope, "--includes", "--get-regexp", `^filter\.`)
		var exit *exec.ExitError
		if out != "" || err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
			return true
		}
	}
	return false
}

// git runs git and returns at most so many bytes of its output. Of our variables git gets
// only those that it needs to find itself and the user's configuration.
func git(ctx context.Context, dir string, most int, args ...string) (string, error) {
	fixed := []string{"--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.quotePath=true", "-c", "color.ui=false"}
	cmd := exec.CommandContext(ctx, "git", append(fixed, args...)...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME", "SYSTEMROOT", "USERPROFILE", "TMPDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C")
	out := &head{most: most}
	cmd.Stdout = out
	err := cmd.Run()
	kept := text.Clean(strings.ToValidUTF8(string(out.kept), "\uFFFD"))
	if out.more > 0 {
		if i := strings.LastIndexByte(kept, '\n'); i >= 0 {
			kept = kept[:i]
		}
		kept += fmt.Sprintf("\n… (%d bytes more)", out.more)
	}
	return kept, err
}

// A head keeps the beginning of the data written to it.
type head struct {
	kept       []byte
	most, more int
}

func (h *head) Write(p []byte) (int, error) {
	keep := min(len(p), h.most-len(h.kept))
	h.more += len(p) - keep
	h.kept = append(h.kept, p[:keep]...)
	return len(p), nil
}
