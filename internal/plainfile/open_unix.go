//go:build unix

package plainfile

import "syscall"

const (
	nonblock   = syscall.O_NONBLOCK
	folderOnly = syscall.O_DIRECTORY
)
