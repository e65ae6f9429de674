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

// A confinement lists the rights of confined processes. Paths are absolute, clean and free of
// symlinks; a path that leads through a symlink when a process starts is an error, and the
// process does not start. Of the paths that cover a file the longest counts; of equal ones
// Hidden, then ReadOnly, then Write. The zero value writes nothing, reads everything and
// has no network.
type confinement struct {
	// Write lists files and folders that may be written, with everything below them.
	// Missing ones are skipped. Do not list a folder that programs outside the sandbox use
	// as well, such as /tmp: they could be made to run files that confined processes put
	// there. Use a private folder and TMPDIR instead.
	Write []string
	// ReadOnly lists paths that are not written although they are below Write, or are read
	// although they are below Hidden. Missing ones below Write cannot be created.
	ReadOnly []string
	// Hidden lists paths that are neither read nor written. Missing ones below Write cannot
	// be created.
	Hidden []string
	// Read lists the paths that may be read, in addition to Write, ReadOnly and the folders
	// of the system (/usr, /etc …). Nil: everything except Hidden.
	Read []string
	// Proxy is the path of the UNIX socket of a proxy for HTTP and SOCKS5 (both on
	// the one socket), which is the only way to a network. "": no network.
	Proxy string
	// Loopback lists services on the host's loopback that processes reach at the same port
	// of their own loopback, as "localhost:5432" or "127.0.0.1:5432". The proxy makes the
	// connections.
	Loopback []string
	// ProxyLoopback has programs ask the proxy for names and addresses of the loopback,
	// too. Otherwise, with LocalBinding, these are their own loopback.
	ProxyLoopback bool
	// Network gives the host's network, unfiltered; Proxy does not count then.
	Network bool
	// UnixSockets lets processes make UNIX sockets, and so reach every service of
	// the host that has one in a folder which they can read.
	UnixSockets bool
	// LocalBinding lets processes listen on their own loopback, which nothing outside can
	// reach. With Network they always can, and everyone reaches it.
	LocalBinding bool
	// Memory is how many bytes of memory the processes of a command may take together;
	// a command that takes more is killed. 0: no bound.
	Memory int
	// Weaker gives up protections that containers forbid (a private /proc). Lacks reports
	// them.
	Weaker bool
	// Nested lets processes create namespaces, as a sandbox inside does.
	Nested bool
}

// A backendKind confines processes.
type backendKind interface {
	// Name is native, bubblewrap, landlock or sandbox-exec.
	Name() string
	// Lacks lists in words the parts of the policy that it cannot enforce. Nil: it enforces
	// all.
	Lacks(p confinement) []string
	// Confine changes cmd, which has not been started, so that it starts confined,
	// with the streams, environment, directory and attributes that it has. A program
	// that could not be confined does not run: it exits with [exitFailed] and says
	// why on its standard error. One that signal n ended exits with 128 + n, or is seen to end by it.
	Confine(cmd *exec.Cmd, p confinement) (releaseFunc, error)
}

// releaseFunc frees the resources of a confined process. Call it once: when the process has
// ended, or when it was not started. It returns the number of processes that were left
// behind and ended with it and, if the backend knows, whether a signal ended the program.
type releaseFunc = func() (left int, signaled bool)

// exitFailed is the exit code of a process that did not run because it could not
// be confined.
const exitFailed = 125

// An refusal says why a backend is not used here.
type refusal struct {
	Name string // of the backend
	Err  error
}
