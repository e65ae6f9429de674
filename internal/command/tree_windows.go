package command

import (
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/windows"

	"github.com/openagent-go/agent/internal/winjob"
)

// shell is that of the system: neither the working folder nor PATH is asked for it.
func shell() string {
	dir, err := windows.GetSystemDirectory()
	if err != nil {
		return "cmd.exe"
	}
	return filepath.Join(dir, "cmd.exe")
}

// tree is the command and its processes: a job object.
type tree struct{ job winjob.Job }

// prepare makes the shell take the line unchanged, run nothing of its own before it, and
// not look for programs in the working folder.
func (t *tree) prepare(cmd *exec.Cmd, line string) {
	cmd.SysProcAttr = winjob.Attributes()
	cmd.SysProcAttr.CmdLine = `cmd.exe /D /S /C "` + line + `"`
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], "NoDefaultCurrentDirectoryInExePath=1")
}

func (t *tree) adopt(p *os.Process) error { return t.job.Adopt(p) }

func (t *tree) kill() { t.job.Kill() }

func (t *tree) release() { t.job.Release() }
