//go:build unix

package walk

import "syscall"

const nonblock = syscall.O_NONBLOCK
