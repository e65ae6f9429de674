package confine

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The memory of a confined command is bounded as a whole. This process, the first of the
// namespace, adds up the memory of the others, and ends them all when it is too much.
// Limits of single processes would not do: programs fork, and those that reserve much more
// than they use (Go's race detector, Node.js, Java) would not start.

const (
	// memoryPause is how often the memory is looked at, and memoryHaste how often once
	// a quarter of the limit is taken.
	memoryPause = 100 * time.Millisecond
	memoryHaste = 10 * time.Millisecond
)

// A memoryWatch bounds the memory of the processes of this namespace.
type memoryWatch struct {
	limit int64 // bytes
	tell  int   // descriptor that signals when the limit is exceeded
}

// newMemoryWatch keeps a copy of standard error. It must be made before the
// program's descriptors are given up.
func newMemoryWatch(limit int64) *memoryWatch {
	fd, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		fd = -1
	}
	return &memoryWatch{limit: limit, tell: fd}
}

// run looks at the memory until the process ends.
func (w *memoryWatch) run() {
	for {
		taken := residentOfAll()
		if taken > w.limit && privateOfAll() > w.limit {
			w.end()
		}
		if taken > w.limit/4 {
			time.Sleep(memoryHaste)
		} else {
			time.Sleep(memoryPause)
		}
	}
}

// end says why and ends all processes of the namespace but this one.
func (w *memoryWatch) end() {
	_ = syscall.Kill(-1, syscall.SIGKILL)
	if w.tell >= 0 {
		_ = unix.SetNonblock(w.tell, true) // unreadable
		_, _ = unix.Write(w.tell, []byte("sandbox: the command was ended: its processes took more than "+strconv.FormatInt(w.limit>>20, 10)+
			" MB of memory together; the user can set sandbox.memoryMB\n"))
		_ = unix.Close(w.tell)
		w.tell = -1
	}
}

// eachProcess calls f with the number of every process of the namespace but this one.
func eachProcess(f func(pid string)) {
	if self, err := os.Readlink("/proc/self"); err != nil || self != "1" {
		return
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if name[0] >= '0' && name[0] <= '9' && name != "1" {
			f(name)
		}
	}
}

// residentOfAll adds up the resident memory of the processes. Pages that they share count
// for each.
func residentOfAll() (sum int64) {
	eachProcess(func(pid string) {
		b, _ := os.ReadFile("/proc/" + pid + "/statm") // proc_pid_statm(5): size, resident …
		if f := bytes.Fields(b); len(f) > 1 {
			pages, _ := strconv.ParseInt(string(f[1]), 10, 64)
			sum += pages * int64(os.Getpagesize())
		}
	})
	return sum
}

// privateOfAll adds up the memory of the processes that no file backs. Pages that they
// share count once.
func privateOfAll() (sum int64) {
	eachProcess(func(pid string) {
		b, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
		if err != nil { // a process that may not be read counts in full
			sum += anonymousOf(pid)
			return
		}
		sum += field(b, "Pss_Anon:") + field(b, "Pss_Shmem:") + field(b, "SwapPss:")
	})
	return sum
}

// anonymousOf is the memory of a process that no file backs, shared pages in full.
func anonymousOf(pid string) int64 {
	b, _ := os.ReadFile("/proc/" + pid + "/status")
	return field(b, "RssAnon:") + field(b, "RssShmem:") + field(b, "VmSwap:")
}

// field is the number of kilobytes after a name, in bytes.
func field(text []byte, name string) int64 {
	_, rest, ok := bytes.Cut(text, []byte("\n"+name))
	if !ok {
		return 0
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	if f := bytes.Fields(line); len(f) > 0 {
		kb, _ := strconv.ParseInt(string(f[0]), 10, 64)
		return kb << 10
	}
	return 0
}
