//go:build unix && !linux

package workspace

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// system holds the data of a tree on systems where only ps knows the processes.
type system struct {
	known map[int]bool
}

func (t *tree) open() { t.known = map[int]bool{} }

func (t *tree) attributes(*syscall.SysProcAttr) {}

func (t *tree) simplify() bool { return false }

func (t *tree) release() {}

func (t *tree) observe() {}

func (t *tree) destroy() {}

// kept: no process keeps a sandbox here.
func (t *tree) kept(members []int) []int { return members }

func (t *tree) wait(cmd *exec.Cmd) *os.ProcessState {
	_ = cmd.Wait() // the state says it all
	return cmd.ProcessState
}

// members lists the living processes of the tree: its process group, their
// descendants, and those seen before which have since been orphaned.
func (t *tree) members() []int {
	out, err := exec.Command("ps", "-axo", "pid=,ppid=,pgid=,stat=").Output()
	if err != nil {
		if syscall.Kill(-t.pid, 0) == nil {
			return []int{t.pid}
		}
		return nil
	}
	type process struct{ pid, parent int }
	var all []process
	alive := map[int]bool{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 4 || strings.HasPrefix(f[3], "Z") {
			continue
		}
		pid, _ := strconv.Atoi(f[0])
		parent, _ := strconv.Atoi(f[1])
		group, _ := strconv.Atoi(f[2])
		if alive[pid] = true; group == t.pid {
			t.known[pid] = true
		}
		all = append(all, process{pid, parent})
	}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if t.known[p.parent] && !t.known[p.pid] {
				t.known[p.pid] = true
				grown = true
			}
		}
	}
	var members []int
	for pid := range t.known {
		if alive[pid] {
			members = append(members, pid)
		} else {
			delete(t.known, pid)
		}
	}
	return members
}

func hostID() string { return "0." + strconv.Itoa(os.Getpid()) + ".0" }

// sweepStale does nothing: here the remains of a dead process look like the processes of
// others.
func sweepStale() {}

func makeGroup(string) string { return "" }

func removeGroup(string) {}
