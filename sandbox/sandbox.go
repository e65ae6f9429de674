// Package sandbox confines processes by means of the operating system: which files they
// may read and write, and which hosts they may reach.
//
//	box, err := sandbox.New(sandbox.Settings{Enabled: true}, sandbox.Place{Dir: dir})
//	defer box.Close()
//	ws := &workspace.Workspace{Root: dir, Confine: box.Confiner()}
//
// A program that imports it can be started once more, as the first process of a sandbox.
// That happens while the program is initialized, and its main does not run.
package sandbox

import "os/exec"

// A Policy says what confined processes may do. Paths are absolute, clean and
// free of symlinks; a path that leads through a symlink by the time a process
// starts is an error, and the process does not start. Of the paths that cover a
// file the longest counts; of equal ones Hidden, then ReadOnly, then Write. The
// zero value writes nothing, reads everything and has no network.
type Policy struct {
	// Write lists files and folders that may be written, with all below them. What
	// does not exist is passed over. Programs of the host that work in such a
	// folder may be made to run what confined processes put there, so a folder
	// which others use as well, like /tmp, does not belong here: a private folder
	// and TMPDIR do.
	Write []string
	// ReadOnly lists what is not written although it is below Write, or is read
	// although it is below Hidden. What does not exist below Write cannot be made.
	ReadOnly []string
	// Hidden lists what is neither read nor written. What does not exist below
	// Write cannot be made.
	Hidden []string
	// Read lists what may be read beside Write, ReadOnly and the folders of the
	// system (/usr, /etc …). Nil: all but Hidden.
	Read []string
	// Proxy is the path of the UNIX socket of a proxy for HTTP and SOCKS5 (both on
	// the one socket), which is the only way to a network. "": no network.
	Proxy string
	// Loopback lists services on the host's loopback that processes reach by
	// connecting to the same port of their own loopback, as "localhost:5432" or
	// "127.0.0.1:5432". Proxy is asked to connect to them.
	Loopback []string
	// ProxyLoopback has programs ask the proxy for names and addresses of the loopback,
	// too. Otherwise, with LocalBinding, these are their own loopback.
	ProxyLoopback bool
	// Network gives the host's network, unfiltered; Proxy does not count then.
	Network bool
	// UnixSockets lets processes make UNIX sockets, and so reach every service of
	// the host that has one in a folder which they can read.
	UnixSockets bool
	// LocalBinding lets processes listen on their own loopback, which nobody
	// outside can reach. With Network they always can, and everybody reaches it.
	LocalBinding bool
	// Memory is how many bytes of memory the processes of a command may take together;
	// a command that takes more is killed. 0: no bound.
	Memory int
	// Weaker does without what containers refuse (a /proc of its own). It is
	// reported in Lacks.
	Weaker bool
	// Nested lets processes make namespaces of their own, as sandboxes within do.
	Nested bool
}

// A Backend confines processes.
type Backend interface {
	// Name is native, bubblewrap, landlock or sandbox-exec.
	Name() string
	// Lacks says in words what of the policy it cannot enforce. Nil: it holds all.
	Lacks(p Policy) []string
	// Confine changes cmd, which has not been started, so that it starts confined,
	// with the streams, environment, directory and attributes that it has. A program
	// that could not be confined does not run: it exits with [ExitFailed] and says
	// why on its standard error. One that signal n ended exits with 128 + n, or is seen to end by it.
	Confine(cmd *exec.Cmd, p Policy) (Release, error)
}

// Release gives back what a confined process took. It must be called once: when
// the process has ended, or when it was not started. It says how many processes
// were left behind, which ended with it, and whether a signal ended the program,
// where the backend is who knows.
type Release = func() (left int, signaled bool)

// ExitFailed is the exit code of a process that did not run because it could not
// be confined.
const ExitFailed = 125

// An Attempt says why a backend is not used here.
type Attempt struct {
	Name string // of the backend
	Err  error
}
