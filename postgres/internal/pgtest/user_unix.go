//go:build unix

package pgtest

import (
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// nobody returns a user without rights, because the server refuses to run as root.
func nobody() (uid, gid int, ok bool) {
	if os.Geteuid() != 0 {
		return 0, 0, false
	}
	uid, gid = 65534, 65534
	if u, err := user.Lookup("nobody"); err == nil {
		if n, err := strconv.Atoi(u.Uid); err == nil {
			uid = n
		}
		if n, err := strconv.Atoi(u.Gid); err == nil {
			gid = n
		}
	}
	return uid, gid, true
}

// own gives a folder to the user that runs the server.
func own(dir string) error {
	if uid, gid, ok := nobody(); ok {
		return os.Chown(dir, uid, gid)
	}
	return nil
}

func dropRoot(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if uid, gid, ok := nobody(); ok {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
}

// killWorkers ends the processes that the server has started.
func (s *Server) killWorkers() { _ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) }

// quit asks the server to end without a checkpoint.
func quit(c *exec.Cmd) { _ = c.Process.Signal(syscall.SIGQUIT) }
