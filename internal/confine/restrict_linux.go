package confine

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// restrict takes every right from this thread, which is the one that starts the
// program, and keeps the program from looking into this process.
func restrict(p *Plan) error {
	filter, err := program(p)
	if err != nil {
		return &step{"filtering system calls", err}
	}
	for c := uintptr(0); ; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err == unix.EINVAL && c > 0 || err == unix.EPERM && p.Landlock {
			break // no more of them; outside of a namespace, who has none and gets none
		} else if err != nil {
			return &step{"dropping capabilities", err}
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return &step{"dropping capabilities", err}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return &step{"dropping capabilities", err}
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return &step{"hiding the first process", err}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return &step{"giving up new privileges", err}
	}
	if err := fence(p); err != nil {
		return &step{"fencing in what may be written", err}
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return &step{"filtering system calls", errno}
	}
	return nil
}
