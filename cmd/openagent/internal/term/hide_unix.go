//go:build unix

package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// Columns returns the width of a terminal, or 0 if it is unknown.
func Columns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// hideInput turns the echo of a terminal off, with the requests that read and change its state.
func hideInput(fd int, get, set uint) (restore func() error, err error) {
	before, err := unix.IoctlGetTermios(fd, get)
	if err != nil {
		return nil, err
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	hidden.Lflag |= unix.ICANON | unix.ISIG
	hidden.Iflag |= unix.ICRNL
	if err := unix.IoctlSetTermios(fd, set, &hidden); err != nil {
		return nil, err
	}
	return func() error { return unix.IoctlSetTermios(fd, set, before) }, nil
}
