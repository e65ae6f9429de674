//go:build unix

package command

import (
	"crypto/rand"
	"os"
	"os/exec"
	"syscall"
)

func shell() string { return "sh" }

// variable marks the processes of a command in their environment.
const variable = "OPENAGENT_COMMAND"

// tree is the command and its processes: the process group, and others that the operating
// system reports.
type tree struct {
	pid  int
	mark string
}

func (t *tree) prepare(cmd *exec.Cmd, line string) {
	t.mark = variable + "=" + rand.Text()
	cmd.Args = append(cmd.Args, "-c", line)
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], t.mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

func (t *tree) adopt(p *os.Process) error {
	t.pid = p.Pid
	return nil
}

// kill ends those that left the group as far as they can be found, and then the group:
// as long as a parent lives its children can be told by it.
func (t *tree) kill() {
	if t.pid == 0 {
		return
	}
	for range 3 { // while they fork
		others := t.others()
		if len(others) == 0 {
			break
		}
		for _, pid := range others {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	_ = syscall.Kill(-t.pid, syscall.SIGKILL)
}

func (t *tree) release() {}
