//go:build unix

package workspace

import (
	"os"
	"os/exec"
	"syscall"
)

// tree is a program and its descendants. Its members are found by process
// group, session, descent and the mark in their environment, and by control
// group where there is one.
type tree struct {
	id     string // the mark in [jobVariable]
	pid    int    // of the program; also its group and its session
	shells *shells
	// confined: some of the members may only keep the others.
	confined bool
	system   // data of the operating system
}

func newTree(s *shells) *tree {
	t := &tree{id: s.newID(), shells: s}
	t.open()
	return t
}

// prepare puts cmd into its own session: no terminal to ask for passwords
// on, and no Ctrl-C that is meant for us.
func (t *tree) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	t.attributes(cmd.SysProcAttr)
}

// adopt takes charge of the started program.
func (t *tree) adopt(p *os.Process) error {
	t.pid = p.Pid
	t.observe()
	return t.shells.guard.add(t.pid)
}

// close forgets a tree that has ended, or was not started.
func (t *tree) close() {
	if t.pid != 0 {
		t.shells.guard.remove(t.pid)
	}
	t.release()
}

// confine notes that the program is confined.
func (t *tree) confine() { t.confined = true }

// terminate asks the members that are not in asked to end, and notes them there. Processes
// that keep a sandbox end with the program in it; if they were asked earlier, they would
// kill it at once.
func (t *tree) terminate(asked map[int]bool) {
	members := t.members()
	if t.confined {
		if kept := t.kept(members); len(kept) > 0 {
			members = kept
		}
	}
	for _, pid := range members {
		if !asked[pid] {
			asked[pid] = true
			_ = syscall.Kill(pid, syscall.SIGTERM)
		}
	}
}

// kill reaches the members one by one as well, since some have left the group.
func (t *tree) kill() {
	t.destroy()
	members := t.members()
	if len(members) == 0 {
		return // the group may be gone and its number in use again
	}
	_ = syscall.Kill(-t.pid, syscall.SIGKILL)
	for _, pid := range members {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func exitCode(s *os.ProcessState) (code int, signaled bool) {
	if st := s.Sys().(syscall.WaitStatus); st.Signaled() {
		return 128 + int(st.Signal()), true
	}
	return s.ExitCode(), false
}
