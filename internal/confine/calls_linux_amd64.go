package confine

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_X86_64

// ownCalls are the denied ones that other processors do not have.
var ownCalls = []uint32{
	unix.SYS_KEXEC_FILE_LOAD, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB,
	unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE, unix.SYS_NFSSERVCTL, unix.SYS__SYSCTL,
}

// ownShared are the calls of semaphores that other processors make by another.
var ownShared = []uint32{unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP}
