package gitworktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/environ"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/workspace"
)

const (
	maxGitOutput = 1 << 20 // bytes of git's output that are kept
	gitGrace     = time.Second
)

// git runs git so that a repository cannot make it run programs: no hooks, no file system
// monitor, no prompts, and no transport, which a partial clone would use to get objects.
// The exceptions are filters for checking files out, see [git.plain], and the settings of
// submodules, which git must not enter.
type git struct{ start toolapi.Starter }

// errNoGit is matched by the error for a machine without git.
var errNoGit = errors.New("git is not installed, or not in PATH")

// A gitError is the failure of a git command.
type gitError struct {
	command string
	code    int
	text    string // its standard error
}

func (e *gitError) Error() string {
	text := strings.TrimSpace(e.text)
	if text == "" {
		text = fmt.Sprintf("exit code %d", e.code)
	}
	return fmt.Sprintf("git %s: %s", e.command, text)
}

// run runs git in dir and returns its output.
func (g git) run(ctx context.Context, dir string, args ...string) (string, error) {
	out := &gitOutput{left: maxGitOutput}
	if err := g.to(ctx, out, dir, args...); err != nil {
		return "", err
	}
	if out.cut {
		return "", fmt.Errorf("running git %s: it printed more than %d bytes", args[0], maxGitOutput)
	}
	return out.String(), nil
}

// to runs git with more output than fits into memory and writes it to out.
func (g git) to(ctx context.Context, out io.Writer, dir string, args ...string) error {
	errs := &gitOutput{left: 8 << 10}
	p, err := g.start.Start(ctx, workspace.Command{
		Args: append([]string{"git", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "core.quotePath=false",
			"-c", "submodule.recurse=false", "-c", "branch.autoSetupMerge=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false"}, args...),
		Dir: dir, Env: gitEnv(), Output: out, Errors: errs, Grace: gitGrace,
		Outside: true, // it is our own command, and may write .git/config, which commands of the model may not
	})
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return errNoGit
	case err != nil:
		return err
	}
	exit := p.Wait()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("running git %s: %w", args[0], context.Cause(ctx))
	case exit.Code != 0:
		return &gitError{args[0], exit.Code, errs.String()}
	}
	return nil
}

// line is run for commands that print one line.
func (g git) line(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := g.run(ctx, dir, args...)
	return strings.TrimSuffix(strings.TrimSuffix(out, "\n"), "\r"), err
}

// commit returns the id of the commit that rev names, "" if there is none.
func (g git) commit(ctx context.Context, dir, rev string) (string, error) {
	id, err := g.line(ctx, dir, "rev-parse", "--verify", "--quiet", rev+"^{commit}")
	var failed *gitError
	if errors.As(err, &failed) && failed.code == 1 {
		return "", nil
	}
	return id, err
}

// programs are the settings that name programs which git runs in spite of the options of
// run: filters on checkout, and hooks that are settings themselves.
var programs = regexp.MustCompile(`^(filter\..*\.(clean|smudge|process)|hook\..*\.command)$`)

// plain returns an error if the repository's own settings name a program that would run in
// dir. Settings of the user and the machine are trusted; those of a repository that came
// with its .git folder are not. They may hold for some folders and branches only, so each
// worktree must be asked about.
func (g git) plain(ctx context.Context, dir string) error {
	out, err := g.run(ctx, dir, "config", "--list", "--show-scope", "--name-only", "--includes", "-z")
	if err != nil {
		return err
	}
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		scope, key := fields[i], fields[i+1]
		if scope != "system" && scope != "global" && scope != "command" && programs.MatchString(strings.ToLower(key)) {
			return fmt.Errorf("the repository's own settings make git run a program (%s). If it is to be trusted, the user can move the setting to their own with git config --global", key)
		}
	}
	return nil
}

// gitEnv is the environment of git: in English, without secrets, and without variables that
// select another repository.
func gitEnv() []string {
	keep := []string{"GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES"}
	env := slices.DeleteFunc(environ.Child(nil, nil), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		name = strings.ToUpper(name)
		return strings.HasPrefix(name, "GIT_") && !slices.Contains(keep, name)
	})
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1",
		"GIT_NO_REPLACE_OBJECTS=1")
}

// gitOutput keeps the beginning of the data written to it.
type gitOutput struct {
	bytes.Buffer
	left int
	cut  bool
}

func (c *gitOutput) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	c.cut = c.cut || n < len(p)
	c.Buffer.Write(p[:n])
	return len(p), nil
}
