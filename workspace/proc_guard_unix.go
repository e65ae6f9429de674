//go:build unix

package workspace

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

//go:embed proc_guard.sh
var guardScript string

// guardPatience bounds how long a guard that does not react is waited for.
const guardPatience = 2 * time.Second

// A guard is a small shell that outlives us by a moment: it reads from a pipe whose other
// end only we hold. If the pipe ends without a farewell, we were killed. The guard then
// kills our processes and removes our temporary files.
type guard struct {
	mu     sync.Mutex
	pipe   *os.File
	cmd    *exec.Cmd
	groups []int // process groups that are running
	shells *shells
}

// open starts the guard unless it is running.
func (g *guard) open(s *shells) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd != nil {
		return nil
	}
	g.shells = s
	return g.start()
}

func (g *guard) start() error {
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("starting the guard of the processes: %w", err)
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", guardScript, "guard", g.shells.host, g.shells.group, g.shells.temp)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), jobVariable + "=" + os.Getenv(jobVariable)}
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		w.Close()
		return fmt.Errorf("starting the guard of the processes: %w", err)
	}
	g.cmd, g.pipe = cmd, w
	return nil
}

// add puts a process group under guard. A guard that someone killed is replaced.
func (g *guard) add(group int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.groups = append(g.groups, group)
	if g.tell("+", group) == nil {
		return nil
	}
	g.end()
	if err := g.start(); err != nil {
		return err
	}
	for _, id := range g.groups {
		if err := g.tell("+", id); err != nil {
			return fmt.Errorf("talking to the guard of the processes: %w", err)
		}
	}
	return nil
}

func (g *guard) remove(group int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.groups = slices.DeleteFunc(g.groups, func(id int) bool { return id == group })
	_ = g.tell("-", group) // a dead guard guards nothing; add replaces it
}

func (g *guard) tell(what string, group int) error {
	if err := g.pipe.SetWriteDeadline(time.Now().Add(guardPatience)); err != nil {
		return err
	}
	_, err := g.pipe.WriteString(what + " " + strconv.Itoa(group) + "\n")
	return err
}

// close says farewell: the guard ends and kills nothing.
func (g *guard) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd != nil {
		_ = g.tell("q", 0)
		g.end()
	}
}

// end waits for the guard, which someone may have stopped.
func (g *guard) end() {
	g.pipe.Close()
	cmd := g.cmd
	late := time.AfterFunc(guardPatience, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
	late.Stop()
	g.cmd = nil
}
