//go:build unix

package checkpoint

import (
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// noWait keeps an opening from waiting for a pipe.
const noWait = syscall.O_NONBLOCK

// move moves a file from a folder to another, even if their paths have changed.
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
