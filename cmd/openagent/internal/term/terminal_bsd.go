//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TIOCGETA)
	return err == nil
}

// DropInput forgets what was typed on a terminal and has not been read.
func DropInput(f *os.File) error {
	const read = 1 // FREAD of <sys/fcntl.h>
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, read)
}

// HideInput stops a terminal from showing what is typed. Call restore to end it.
func HideInput(f *os.File) (restore func() error, err error) {
	return hideInput(int(f.Fd()), unix.TIOCGETA, unix.TIOCSETA)
}
