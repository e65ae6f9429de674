package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// defaultGrace is the time between the request to end a process and killing it.
	defaultGrace = 2 * time.Second
	// lingering is the time for a command's own processes to end once the command has
	// ended: bash does not wait for those of "> >(tee log)".
	lingering = 250 * time.Millisecond
	// asking is how often a tree is searched for members that have not been asked to end.
	asking = 20 * time.Millisecond
	// killing bounds how long killed processes are waited for.
	killing = 3 * time.Second
	// draining bounds the wait for output after all writers should have ended.
	draining = 250 * time.Millisecond
)

// jobVariable marks the environment of everything that is started here: the ids
// of the jobs that a process belongs to, the outermost first, each with a ";".
const jobVariable = "OPENAGENT_JOB"

// A Command is a program to start.
type Command struct {
	Args []string // program, looked up in PATH, and its arguments
	Dir  string   // absolute, or relative to the working directory, which "" is
	// Env is the whole environment, "NAME=value". Nil: that of the process, and Env of the
	// Workspace. Secret variables of the process are left out: those whose names look
	// secret, and every variable of ANTHROPIC_, OPENAI_ and OPENAGENT_. Pass of the
	// Workspace brings them back.
	Env []string
	// Input is the standard input of the program. If it is an [io.Closer] it is closed when
	// all of the process has ended, so that a waiting Read ends. Nil: empty.
	Input io.Reader
	// Output receives standard output and standard error in the order in which
	// they were written, from one goroutine. Its errors are ignored and never
	// stop the process. Nil discards.
	Output io.Writer
	// Errors, if not nil, receives standard error instead of Output, from its own
	// goroutine.
	Errors io.Writer
	Grace  time.Duration // from the request to end to the kill; 0 is 2 s
	// Outside starts the program without [Workspace].Confine. Set it only on a decision of
	// the host, never because of a model's input.
	Outside bool

	run string   // folder that the run works in, see [Workspace].Confine; "" is Dir
	own []string // folders that the program has to write, see [Workspace].Confine
}

// A Process is a running program with everything that it has started.
type Process interface {
	// Wait returns when all of it has ended.
	Wait() Exit
	// Stop ends all of it: a request to end, after the grace a kill. It returns at once.
	Stop()
}

// An Exit says how a Process ended.
type Exit struct {
	Code     int  // as a shell has it: 128 + n after signal n
	Signaled bool // the program was ended by a signal
	Stopped  bool // it was ended from here: by its context, Stop or Close
	Left     int  // processes that it left behind; they were ended
	// Survivors are the ids of processes that could not be ended.
	Survivors []int
}

// Start starts a program in its own process group and session. All its descendants end with
// it: when it exits, when ctx ends, when w is closed and when this process dies, whatever
// the cause. On Linux that includes processes which left the group and the session. An
// Input that blocks holds up nothing. The error shows a limit that was hit
// ([syscall.EMFILE], [syscall.EAGAIN]).
func (w *Workspace) Start(ctx context.Context, c Command) (Process, error) {
	if len(c.Args) > 0 && (w.Exec != nil || w.InMemory) {
		return nil, fmt.Errorf("starting %s: a workspace that is not on this machine starts no programs", c.Args[0])
	}
	if len(c.Args) == 0 {
		return nil, errors.New("starting a command: the command is empty")
	}
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.Args[0], err)
	}
	s := &w.shell
	if err := s.enter(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.Args[0], err)
	}
	p, err := w.launch(ctx, c)
	if err != nil {
		s.running.Done()
		return nil, fmt.Errorf("starting %s: %w", c.Args[0], err)
	}
	return p, nil
}

// launch starts c. The caller has entered; the process leaves when it has ended.
func (w *Workspace) launch(ctx context.Context, c Command) (*process, error) {
	r := w.folders()
	if r.err != nil {
		return nil, r.err
	}
	if !filepath.IsAbs(c.Dir) {
		c.Dir = filepath.Join(r.work, c.Dir)
	}
	if info, err := os.Stat(c.Dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, &fs.PathError{Op: "chdir", Path: c.Dir, Err: errors.New("not a directory")}
	}
	if c.run == "" {
		c.run = c.Dir
	}
	if c.Env == nil {
		c.Env = w.environ()
	}
	if c.Output == nil {
		c.Output = io.Discard
	}
	if c.Grace == 0 {
		c.Grace = defaultGrace
	}
	if err := w.shell.guard.open(&w.shell); err != nil {
		return nil, err
	}
	confine := w.Confine
	if c.Outside {
		confine = nil
	}
	p := &process{
		owner:   &w.shell,
		confine: confine,
		command: c,
		tree:    newTree(&w.shell),
		stop:    make(chan struct{}),
		exited:  make(chan struct{}),
		swept:   make(chan struct{}),
		done:    make(chan struct{}),
	}
	started := make(chan error)
	go p.live(ctx, started)
	return p, <-started
}

// process is a running program. live owns it, sweep its tree.
type process struct {
	owner   *shells
	confine func(cmd *exec.Cmd, dir string, own ...string) (release func() (left int, signaled bool), err error)
	release func() (left int, signaled bool) // unless nil, to be called at the end
	command Command
	cmd     *exec.Cmd
	tree    *tree
	exit    Exit // complete once done is closed

	stopping atomic.Bool
	stop     chan struct{} // closed: someone wants it to end
	exited   chan struct{} // closed: the program itself has ended
	swept    chan struct{} // closed: its tree has ended
	done     chan struct{} // closed: nothing is left, not even a goroutine
}

func (p *process) Wait() Exit {
	<-p.done
	return p.exit
}

func (p *process) Stop() {
	if p.stopping.CompareAndSwap(false, true) {
		close(p.stop)
	}
}

// live starts the program and stays with it until the end. It keeps its thread:
// Linux delivers the parent-death signal when the thread that forked dies.
func (p *process) live(ctx context.Context, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	s, err := p.start()
	if err != nil {
		p.tree.close()
		started <- err
		return
	}
	defer p.owner.running.Done()
	defer close(p.done)
	defer p.tree.close()
	started <- nil

	s.copy(p.command)
	go p.sweep(ctx)

	state := p.tree.wait(p.cmd)
	close(p.exited)
	<-p.swept
	s.finish(p.command)
	if state == nil {
		_ = p.cmd.Wait() // the state says it all
		state = p.cmd.ProcessState
	}
	p.exit.Code, p.exit.Signaled = exitCode(state)
	if p.release != nil {
		left, signaled := p.release()
		p.exit.Left += left
		p.exit.Signaled = p.exit.Signaled || signaled
	}
}

// start starts the program and returns our ends of its streams.
func (p *process) start() (*streams, error) {
	ours, theirs, err := pipes(p.command)
	if err != nil {
		return nil, err
	}
	defer theirs.close()
	// A tree that the system will not put the program into (a control group that
	// cannot be entered) is tried without.
	for {
		c := p.command
		p.cmd = exec.Command(c.Args[0], c.Args[1:]...)
		p.cmd.Dir = c.Dir
		p.cmd.Env = append(c.Env[:len(c.Env):len(c.Env)], jobVariable+"="+os.Getenv(jobVariable)+p.tree.id+";")
		p.cmd.Stdout, p.cmd.Stderr = theirs.output, theirs.output
		if theirs.errors != nil {
			p.cmd.Stderr = theirs.errors
		}
		if theirs.input != nil {
			p.cmd.Stdin = theirs.input
		}
		p.tree.prepare(p.cmd)
		if p.confine != nil {
			if p.release, err = p.confine(p.cmd, c.run, c.own...); err != nil {
				ours.close()
				return nil, fmt.Errorf("confining it: %w", err)
			}
			p.tree.confine()
		}
		if err = p.cmd.Start(); err == nil {
			break
		}
		p.unconfine()
		if !p.tree.simplify() {
			break
		}
	}
	if err == nil {
		if err = p.tree.adopt(p.cmd.Process); err != nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
			p.unconfine()
		}
	}
	if err != nil {
		ours.close()
		return nil, err
	}
	return &ours, nil
}

// unconfine releases the confinement of a program that was not started.
func (p *process) unconfine() {
	if p.release != nil {
		p.release()
		p.release = nil
	}
}

// sweep ends the tree when it should end, and sees to it that it has.
func (p *process) sweep(ctx context.Context) {
	defer close(p.swept)
	select {
	case <-p.exited:
	case <-ctx.Done():
	case <-p.stop:
	case <-p.owner.closing:
	}
	select {
	case <-p.exited:
		if p.tree.gone(lingering) {
			return
		}
		p.exit.Left = len(p.tree.members())
	default:
		p.exit.Stopped = true
	}
	// Members may fork while they are asked: the new ones are asked as well.
	asked := map[int]bool{}
	for end := time.Now().Add(p.command.Grace); time.Now().Before(end); {
		p.tree.terminate(asked)
		if p.tree.gone(min(p.command.Grace, asking)) {
			return
		}
	}
	for end := time.Now().Add(killing); time.Now().Before(end); {
		p.tree.kill()
		if p.tree.gone(killing / 20) {
			return
		}
	}
	p.exit.Survivors = p.tree.members()
}

// gone waits up to d for the end of all members and reports whether they have ended.
func (t *tree) gone(d time.Duration) bool {
	end := time.Now().Add(d)
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		if len(t.members()) == 0 {
			return true
		}
		if time.Now().After(end) {
			return false
		}
		time.Sleep(pause)
	}
}

// hasJob reports whether environment, as in /proc/PID/environ, belongs to the job.
func hasJob(environment, id string) bool {
	for kv := range strings.SplitSeq(environment, "\x00") {
		if jobs, ok := strings.CutPrefix(kv, jobVariable+"="); ok && strings.Contains(";"+jobs, ";"+id+";") {
			return true
		}
	}
	return false
}
