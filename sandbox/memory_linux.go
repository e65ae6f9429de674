package sandbox

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// machineMemory is the memory of the machine in bytes, 0 if it is not known.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}

// boundGroup bounds the memory of the control group that a command is to be started
// in, where the system lets us: version 2, with the controller for memory. The kernel
// ends all of the group at once.
func boundGroup(a *syscall.SysProcAttr, memory int) {
	if memory == 0 || a == nil || !a.UseCgroupFD {
		return
	}
	for _, set := range [][2]string{{"memory.oom.group", "1"}, {"memory.swap.max", "0"}, {"memory.max", strconv.Itoa(memory)}} {
		fd, err := unix.Openat(a.CgroupFD, set[0], unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue // the controller is not there
		}
		_, _ = unix.Write(fd, []byte(set[1]))
		_ = unix.Close(fd)
	}
}
