package confine

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxPlan bounds the bytes of a plan.
const maxPlan = 64 << 20

func init() {
	if len(os.Args) != 2 || os.Args[0] != Name {
		return
	}
	// The thread is restricted permanently. While it is locked the runtime makes no
	// other thread from it, so that the bridge is not restricted.
	runtime.LockOSThread()
	fd, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fail("reading the plan", err)
	}
	plan, err := readPlan(fd)
	if err != nil {
		fail("reading the plan", err)
	}
	switch {
	case plan.Landlock:
		become(&plan)
	case os.Getpid() != 1:
		fail("starting", errNoNamespace)
	}
	os.Exit(run(plan, fd))
}

type textError string

func (e textError) Error() string { return string(e) }

const errNoNamespace = textError("this process is not the first of a namespace")

func readPlan(fd int) (Plan, error) {
	unix.CloseOnExec(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Plan{}, err
	}
	if st.Size > maxPlan {
		return Plan{}, errPlan
	}
	b := make([]byte, st.Size)
	if n, err := unix.Pread(fd, b, 0); err != nil || n != len(b) {
		return Plan{}, errPlan
	}
	return Decode(b)
}

// fail ends the process: nothing has run.
func fail(what string, err error) {
	_, _ = os.Stderr.WriteString("sandbox: the command was not run: " + what + ": " + err.Error() + "\n")
	os.Exit(ExitFailed)
}
