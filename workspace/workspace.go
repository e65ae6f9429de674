// Package workspace is the place that tools work in: a folder tree, and the processes
// started in it. It limits, but does not permit: permissions decide about a call before it
// gets here.
//
//	ws := &workspace.Workspace{Root: "."}
//	defer ws.Close() // ends every process
//	out, err := ws.Run(ctx, workspace.CommandLine{Session: "s", Command: "go test ./..."})
package workspace

import (
	"errors"
	"os/exec"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/environ"
)

// A Workspace gives tools their files and shells. The zero value works in the
// process's working directory. Its fields must not change after the first use;
// it is safe for concurrent use.
//
//	here := &workspace.Workspace{Root: "/home/me/project"}
//	container := &workspace.Workspace{Root: "/work", Exec: workspace.ExecThrough("docker", "exec", "-i", "box", "sh", "-c")}
//	memory := &workspace.Workspace{InMemory: true}
type Workspace struct {
	Root string            // working directory; "" is the process's
	Dirs []string          // further folders that tools may use
	Env  map[string]string // extra variables for commands; never shown in any output
	Pass []string          // names of the process's variables that commands get although they look secret
	// OutputDir is the folder for long outputs. Tools may read it, though it is not a root.
	// "" is the user's folder in [os.TempDir].
	OutputDir string
	// Readable are further folders that tools may read, though they are not roots: those of
	// skills.
	Readable []string
	// Exec, if not nil, leads elsewhere: into a container or to another machine, see [Exec].
	// Root and Dirs are absolute folders there. Confine must be nil. Programs cannot be
	// started with Start, and Pass and Readable do not count.
	Exec Exec
	// Timeout is how long the place that Exec leads to may be silent while it is asked for
	// files. 0 is one minute.
	Timeout time.Duration
	// InMemory keeps the files in memory: for tests, and for agents that work on texts of a
	// database. Root is "/" if it is empty. There are no programs, so the tools for commands
	// are left out, and Exec does not count.
	InMemory bool
	// Confine, if not nil, changes a command that has not been started so that it starts
	// confined; package sandbox provides it. dir is the folder that the run works in,
	// wherever the command itself starts. own are folders that the command must write in
	// addition to those that the user allows. release is called once, after the end of the
	// command or when it was not started. It returns how many processes the command left
	// behind and, if only it can know, whether a signal ended the command. Every command is
	// confined except those started with Outside.
	Confine func(cmd *exec.Cmd, dir string, own ...string) (release func() (left int, signaled bool), err error)

	once  sync.Once
	roots roots
	far   *far // nil: the files are on this machine
	locks locks
	shell shells
}

// Close ends the shells and jobs of w and waits for them. It removes none of the user's
// files. A second Close changes nothing.
func (w *Workspace) Close() error { return w.host().closeShells() }

// Confines reports whether the commands of w are confined. The tool Bash asks it, so a type
// that embeds a Workspace is judged like it.
func (w *Workspace) Confines() bool { return w.Confine != nil && w.Exec == nil && !w.InMemory }

// Elsewhere reports whether commands run in another file system than that of this machine. The
// tool Bash asks it.
func (w *Workspace) Elsewhere() bool { return w.Exec != nil }

// Secrets returns the values of the variables of w that must not be shown: all of Env and those
// that Pass names, but for common words and paths that exist. The tool Bash asks it.
func (w *Workspace) Secrets() []string { return environ.Hidden(w.Pass, w.Env) }

// elsewhere returns the place of the files, nil if it is this machine.
func (w *Workspace) elsewhere() *far {
	if w.Exec == nil && !w.InMemory {
		return nil
	}
	w.once.Do(func() {
		if w.InMemory {
			w.far = newMemory(w)
		} else {
			w.far = newRemote(w)
		}
	})
	return w.far
}

// host returns the workspace that has the shells of w.
func (w *Workspace) host() *Workspace {
	if far := w.elsewhere(); far != nil {
		return far.here
	}
	return w
}

// commands is host for running commands.
func (w *Workspace) commands() (*Workspace, error) {
	switch {
	case w.InMemory:
		return nil, errors.New("a workspace in memory runs no commands")
	case w.Exec != nil && w.Confine != nil:
		return nil, errors.New("workspace.Workspace.Confine works on this machine only: with Exec, leave it nil and confine the commands there")
	}
	return w.host(), nil
}
