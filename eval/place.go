package eval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/quota"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/workspace"
)

// A Place is what one trial works in. Variants get it before the agent runs, and graders after.
type Place struct {
	Dir        string // the trial's own folder, absolute
	Case       *Case  // that is run
	Repetition int    // from 1
	// Model is the scripted or replayed model of the case; nil: it has none.
	Model llm.Model
	// Events are the facts of the session, for graders.
	Events []event.Event

	base     string // has Dir, and a folder for temporary files
	settings sandbox.Settings
	judge    llm.Model
	account  *quota.Account // nil: no limit
	agentUSD float64        // what the agent has cost, without judges

	ws       *workspace.Workspace
	cleanups []func() error
}

// Cleanup has f called once the trial has ended, the last one first. Its error becomes that of the
// trial.
func (p *Place) Cleanup(f func() error) { p.cleanups = append(p.cleanups, f) }

// close ends what the trial has started, and removes its folder unless it is kept.
func (p *Place) close(keep bool) error {
	var errs []error
	for _, f := range slices.Backward(p.cleanups) {
		errs = append(errs, guarded("cleaning up", f))
	}
	p.cleanups = nil
	if !keep {
		errs = append(errs, removeAll(p.base))
	}
	return errors.Join(errs...)
}

// removeAll removes a folder, also one with folders that the agent has made read-only, or in which a
// process that is about to end still writes.
func removeAll(dir string) (err error) {
	for range 20 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
		_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				_ = os.Chmod(path, 0o700) // what cannot be changed fails again
			}
			return nil
		})
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// root opens the folder. Operations on it follow no link out of it.
func (p *Place) root() (*os.Root, error) { return os.OpenRoot(p.Dir) }

// Run runs a command line of the shell in the folder, in a sandbox unless the suite has switched it
// off, and returns its exit code and output. The variable EVAL_CASE_DIR names the folder of the
// case, if it was loaded from one. An error means that the line did not run to its end.
func (p *Place) Run(ctx context.Context, line string) (code int, output string, err error) {
	if p.ws == nil {
		if err := p.open(); err != nil {
			return 0, "", err
		}
	}
	out, err := p.ws.Run(ctx, workspace.CommandLine{Command: line})
	if err != nil {
		return 0, "", fmt.Errorf("running %q: %w", short(line), err)
	}
	if out.Stopped {
		why := context.Cause(ctx)
		if why == nil {
			why = errors.New("it was stopped")
		}
		return 0, "", fmt.Errorf("running %q: %w: %s", short(line), why, tail(strings.TrimSpace(out.Text), 1000))
	}
	return out.Code, out.Text, nil
}

// open makes the workspace for commands.
func (p *Place) open() error {
	temp := filepath.Join(p.base, "tmp")
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return err
	}
	ws := &workspace.Workspace{Root: p.Dir, OutputDir: temp, Env: map[string]string{}}
	if p.Case.dir != "" {
		ws.Env["EVAL_CASE_DIR"] = p.Case.dir
	}
	if p.settings.Enabled {
		place := sandbox.Place{Dir: p.Dir, Temp: temp}
		if p.Case.dir != "" {
			place.Readable = []string{p.Case.dir}
		}
		box, err := sandbox.New(p.settings, place)
		if err != nil {
			return fmt.Errorf("making the sandbox for commands of the suite: %w; without one, they run only if the suite switches it off", err)
		}
		p.Cleanup(box.Close)
		ws.Confine = box.Confiner()
	}
	p.Cleanup(ws.Close)
	p.ws = ws
	return nil
}

// commandTime limits each command of a setup, and each grader that sets no other limit.
const commandTime = 10 * time.Minute

// fill makes the content of the folder.
func (p *Place) fill(ctx context.Context) error {
	c := p.Case
	if c.Repository != "" {
		if err := clone(ctx, c.Repository, c.Commit, p.Dir); err != nil {
			return err
		}
	}
	if err := p.copy(c); err != nil {
		return err
	}
	for _, line := range c.Setup {
		limited, cancel := context.WithTimeoutCause(ctx, commandTime, fmt.Errorf("it took more than %v", commandTime))
		code, out, err := p.Run(limited, line)
		cancel()
		if err == nil && code != 0 {
			err = fmt.Errorf("%q ended with exit code %d", short(line), code)
			if out = tail(strings.TrimSpace(out), 2000); out != "" {
				err = fmt.Errorf("%w: %s", err, out)
			}
		}
		if err != nil {
			return fmt.Errorf("setup: %w", err)
		}
	}
	return nil
}

// copy copies the files of a case into the folder. A repository that was cloned there may have
// links: none of them leads a copy out of the folder, and one in the place of a file is replaced.
func (p *Place) copy(c *Case) (err error) {
	root, err := p.root()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if c.Folder != "" {
		if err := copyFolder(root, c.Folder); err != nil {
			return fmt.Errorf("copying the files: %w", err)
		}
	}
	for name, content := range c.Files {
		if err := writeFile(root, filepath.FromSlash(name), 0o644, strings.NewReader(content)); err != nil {
			return fmt.Errorf("writing the files: %w", err)
		}
	}
	return nil
}

// copyFolder copies the content of a folder. Files that are there are replaced.
func copyFolder(to *os.Root, from string) error {
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			return to.MkdirAll(rel, 0o755)
		case d.Type()&os.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err == nil {
				err = replaced(to, rel)
			}
			if err == nil {
				err = to.Symlink(link, rel)
			}
			return err
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is neither a file nor a folder nor a link", rel)
		}
		return copyFile(to, rel, path)
	})
}

// copyFile copies a file with its mode. Its owner may write to the copy.
func copyFile(to *os.Root, name, from string) error {
	in, err := plainfile.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	return writeFile(to, name, info.Mode().Perm()|0o200, in)
}

// writeFile writes a file and makes the folders above it.
func writeFile(to *os.Root, name string, mode os.FileMode, content io.Reader) error {
	if err := to.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := replaced(to, name); err != nil {
		return err
	}
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, content)
	return errors.Join(err, out.Close())
}

// replaced removes what is in the place of a file.
func replaced(root *os.Root, name string) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// clone clones a repository. It runs outside of the sandbox, because it can need the network; git
// runs no program of the repository for it.
func clone(ctx context.Context, repository, commit, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	if err := git(ctx, dir, "clone", "--quiet", "--no-checkout", "--", repository, "."); err != nil {
		return fmt.Errorf("cloning %s: %w", repository, err)
	}
	if commit == "" {
		commit = "HEAD"
	}
	if err := git(ctx, dir, "-c", "advice.detachedHead=false", "checkout", "--quiet", commit, "--"); err != nil {
		return fmt.Errorf("checking out %s of %s: %w", commit, repository, err)
	}
	return nil
}

// git runs git with its own variables only, and without hooks.
func git(ctx context.Context, dir string, args ...string) error {
	fixed := []string{"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false"}
	cmd := exec.CommandContext(ctx, "git", append(fixed, args...)...)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME", "SYSTEMROOT", "USERPROFILE", "TMPDIR", "SSH_AUTH_SOCK", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"} {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh", "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("git: %w: %s", err, text.Bytes(strings.TrimSpace(text.Clean(string(out))), 1000))
	}
	return nil
}

// guarded calls f and returns a panic as an error.
func guarded(what string, f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: panic: %v", what, r)
		}
	}()
	if err := f(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
