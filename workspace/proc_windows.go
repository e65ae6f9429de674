package workspace

import (
	"os"
	"os/exec"
	"strconv"

	"github.com/openagent-go/agent/internal/winjob"
)

// tree is a program and its descendants: a job object, which Windows ends when
// its last handle is closed, and so with this process. Nothing leaves it.
type tree struct {
	id     string // the mark in [jobVariable]
	shells *shells
	job    winjob.Job
}

func newTree(s *shells) *tree { return &tree{id: s.newID(), shells: s} }

func (t *tree) prepare(cmd *exec.Cmd) { cmd.SysProcAttr = winjob.Attributes() }

// confine: no process keeps a sandbox here.
func (t *tree) confine() {}

func (t *tree) simplify() bool { return false }

func (t *tree) adopt(p *os.Process) error { return t.job.Adopt(p) }

func (t *tree) wait(cmd *exec.Cmd) *os.ProcessState {
	_ = cmd.Wait() // the state says it all
	return cmd.ProcessState
}

func (t *tree) members() []int { return t.job.Members() }

// terminate kills: Windows has no request to end that any program understands.
func (t *tree) terminate(map[int]bool) { t.kill() }

func (t *tree) kill() { t.job.Kill() }

func (t *tree) close() { t.job.Close() }

func exitCode(s *os.ProcessState) (code int, signaled bool) { return s.ExitCode(), false }

// guard is needless where job objects are.
type guard struct{}

func (*guard) open(*shells) error { return nil }

func (*guard) close() {}

func hostID() string { return "0." + strconv.Itoa(os.Getpid()) + ".0" }

func sweepStale() {}

func makeGroup(string) string { return "" }

func removeGroup(string) {}
