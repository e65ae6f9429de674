//go:build unix && !linux && !darwin

package walk

import "syscall"

const nonblock = syscall.O_NONBLOCK
