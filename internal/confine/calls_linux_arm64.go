package confine

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_AARCH64

// ownCalls are the denied ones that not every processor has.
var ownCalls = []uint32{unix.SYS_KEXEC_FILE_LOAD, unix.SYS_NFSSERVCTL}

// ownShared are the calls of semaphores that other processors make by another.
var ownShared = []uint32{unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP}
