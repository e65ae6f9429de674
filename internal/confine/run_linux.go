package confine

import (
	"math"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/openagent-go/agent/internal/sandboxenv"
)

const (
	// lingering is the time for processes to end once the program has ended.
	lingering = 250 * time.Millisecond
	// grace is the time between the request to end and the kill.
	grace = 2 * time.Second
)

// run sets the confinement up, runs the program in it and returns the exit code.
func run(p Plan, fd int) int {
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0) // the starter has set it already
	_, _ = unix.Setsid()                                                  // fails for who leads a session already
	keep := 3 + p.Files
	if fd != keep {
		fail("reading the plan", errPlan)
	}
	// Descriptors that the starter left open by mistake must not reach the program.
	if err := unix.CloseRange(uint(keep), math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		fail("closing descriptors", err)
	}
	if err := checkInherited(keep); err != nil {
		fail(describe(err))
	}
	env := p.Env
	if !p.Network {
		if err := raiseLoopback(); err != nil {
			fail("setting up the loopback", err)
		}
		if p.Proxy != "" {
			address, err := bridge(&p)
			if err != nil {
				fail("listening for the proxy", err)
			}
			env = sandboxenv.WithProxy(env, address, p.Direct...)
		}
	}
	mask := unix.Umask(0)
	if err := arrange(&p); err != nil {
		fail(describe(err))
	}
	unix.Umask(mask)
	if err := unix.Chdir(p.Dir); err != nil {
		fail("entering "+p.Dir, err)
	}
	if err := restrict(&p); err != nil {
		fail(describe(err))
	}
	if p.Path == "" {
		return 0
	}
	passTo := passSignals()
	files := make([]uintptr, keep)
	for i := range files {
		files[i] = uintptr(i)
	}
	pid, err := syscall.ForkExec(p.Path, p.Args, &syscall.ProcAttr{
		Env: env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		fail("starting "+p.Path, err)
	}
	if p.Memory > 0 && !p.Weaker {
		w := newMemoryWatch(int64(p.Memory)) // before standard error is given up
		go w.run()
	}
	letGo(keep)
	go passTo(pid)
	status, left := reap(pid)
	r := Report{Left: left}
	code := status.ExitStatus()
	if status.Signaled() {
		r.Signal = int(status.Signal())
		code = 128 + r.Signal
	}
	_, _ = unix.Pwrite(fd, r.Encode(), 0)
	return code
}

// A step is an error with the step that failed.
type step struct {
	what string
	err  error
}

func (s *step) Error() string { return s.what + ": " + s.err.Error() }

func describe(err error) (string, error) {
	if s, ok := err.(*step); ok {
		return s.what, s.err
	}
	return "setting up", err
}

// letGo gives up the program's descriptors: a pipe ends when the program closes it.
func letGo(keep int) {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	for fd := range keep {
		_ = unix.Dup3(null, fd, unix.O_CLOEXEC)
	}
	_ = unix.Close(null)
}

// passSignals passes on the signals that ask for something. They come only from outside, or
// from processes inside.
func passSignals() (to func(pid int)) {
	c := make(chan os.Signal, 16)
	signal.Notify(c, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGCONT, unix.SIGWINCH)
	return func(pid int) {
		for s := range c {
			_ = syscall.Kill(pid, s.(syscall.Signal))
		}
	}
}

// reap waits for the end of all processes. Once the program has ended those that
// it left behind, which are counted, are asked to end and then killed.
func reap(program int) (status syscall.WaitStatus, left int) {
	for {
		var st syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &st, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // no process is left
			return status, left
		case pid == program:
			status = st
			counted := make(chan int, 1)
			go endOthers(counted)
			left = reapOthers(counted)
			return status, left
		}
	}
}

func reapOthers(counted chan int) int {
	for {
		_, err := syscall.Wait4(-1, nil, 0, nil)
		if err != nil && err != syscall.EINTR {
			break
		}
	}
	select {
	case n := <-counted:
		return n
	default:
		return 0
	}
}

func endOthers(counted chan int) {
	time.Sleep(lingering)
	counted <- countOthers()
	_ = syscall.Kill(-1, syscall.SIGTERM)
	time.Sleep(grace)
	_ = syscall.Kill(-1, syscall.SIGKILL)
}

// countOthers counts the processes of the namespace but this one, 0 where /proc
// shows another.
func countOthers() (n int) {
	eachProcess(func(string) { n++ })
	return n
}
