//go:build unix

package helper

import (
	"os/exec"
	"syscall"
)

// group has all that the command started end with it.
func group(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
