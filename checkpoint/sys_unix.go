//go:build unix

package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK // links lead nowhere, pipes are not waited for
	noWait   = syscall.O_NONBLOCK
)

// tryLock takes the lock of an open file, for oneself or together with others,
// unless somebody has it. It belongs to the open file and ends with the process.
func tryLock(f *os.File, shared bool) (bool, error) {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		}
		return err == nil, err
	}
}

// unlock gives a lock back at once: closing alone would leave it with a child
// that was forked and has not come to its exec.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// move moves a file from a folder to another, whatever has become of the paths
// to them.
func move(from *os.Root, name string, to *os.Root, as string) error {
	a, err := from.Open(".")
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := to.Open(".")
	if err != nil {
		return err
	}
	defer b.Close()
	for {
		err := unix.Renameat(int(a.Fd()), name, int(b.Fd()), as)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return &os.LinkError{Op: "rename", Old: filepath.Join(from.Name(), name), New: filepath.Join(to.Name(), as), Err: err}
		}
		return nil
	}
}
