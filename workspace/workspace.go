// Package workspace is the place that tools work in: a folder tree, and the processes
// started in it. It limits, but does not permit: permissions decide about a call before it
// gets here.
//
//	ws := &workspace.Workspace{Root: "."}
//	defer ws.Close() // ends every process
//	out, err := ws.Run(ctx, workspace.CommandLine{Session: "s", Command: "go test ./..."})
package workspace

import (
	"os/exec"
	"sync"
)

// A Workspace gives tools their files and shells. The zero value works in the
// process's working directory. Its fields must not change after the first use;
// it is safe for concurrent use.
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
	locks locks
	shell shells
}

// Confines reports whether the commands of w are confined.
func (w *Workspace) Confines() bool { return w.Confine != nil }

// Close ends the shells and jobs of w and waits for them. It removes none of the user's
// files. A second Close changes nothing.
func (w *Workspace) Close() error { return w.closeShells() }
