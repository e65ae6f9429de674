//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TIOCGETA)
	return err == nil
}

// dropInput forgets what was typed on a terminal and has not been read.
func dropInput(f *os.File) error {
	const read = 1 // FREAD of <sys/fcntl.h>
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, read)
}
