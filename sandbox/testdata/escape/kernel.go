package main

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	for name, flags := range map[string]int{
		"user namespace": unix.CLONE_NEWUSER, "mount namespace": unix.CLONE_NEWNS, "network namespace": unix.CLONE_NEWNET,
		"user and mount namespace": unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
	} {
		attempts["unshare "+name] = func() error {
			// The runtime has threads; a new user namespace wants one alone.
			pid, _, e := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD)|uintptr(flags), 0, 0, 0, 0, 0)
			if e != 0 {
				return e
			}
			if pid == 0 {
				syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
			}
			_, err := syscall.Wait4(int(pid), nil, 0, nil)
			return err
		}
	}
	attempts["unshare files"] = func() error { return unix.Unshare(unix.CLONE_NEWNS) }
	attempts["clone3"] = func() error {
		args := [11]uint64{0: unix.CLONE_NEWUSER, 4: uint64(unix.SIGCHLD)}
		pid, _, e := syscall.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
		if e != 0 {
			return e
		}
		if pid == 0 {
			syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		_, err := syscall.Wait4(int(pid), nil, 0, nil)
		return err
	}
	attempts["join a namespace"] = func() error {
		fd, err := unix.Open("/proc/"+strconv.Itoa(victim())+"/ns/net", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return unix.Setns(fd, 0)
	}
	attempts["join that of the first"] = func() error {
		fd, err := unix.Open("/proc/1/ns/mnt", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return unix.Setns(fd, 0)
	}
	attempts["mount"] = func() error {
		err := unix.Mount("none", os.Getenv("W"), "tmpfs", 0, "")
		if err == nil {
			_ = unix.Unmount(os.Getenv("W"), unix.MNT_DETACH)
		}
		return err
	}
	attempts["remount"] = func() error {
		return reached(unix.Mount("", os.Getenv("O"), "", unix.MS_REMOUNT|unix.MS_BIND, ""))
	}
	attempts["unmount"] = func() error { return reached(unix.Unmount(os.Getenv("H"), unix.MNT_DETACH)) }
	attempts["open a tree"] = func() error {
		_, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE)
		return err
	}
	attempts["change a mount"] = func() error {
		return reached(unix.MountSetattr(-1, os.Getenv("O"), 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}))
	}
	attempts["new file system"] = func() error {
		_, err := unix.Fsopen("tmpfs", 0)
		return err
	}
	attempts["chroot"] = func() error {
		dir, err := unix.Open("/", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		if err := unix.Chroot(os.Getenv("W")); err != nil {
			return err
		}
		return unix.Fchdir(dir)
	}
	attempts["pivot root"] = func() error { return reached(unix.PivotRoot(os.Getenv("W"), os.Getenv("W"))) }
	attempts["bpf"] = func() error { return reached(call(unix.SYS_BPF, 0)) }
	attempts["performance counters"] = func() error { return reached(call(unix.SYS_PERF_EVENT_OPEN, 0)) }
	attempts["user faults"] = func() error { return reached(call(unix.SYS_USERFAULTFD, 1)) }
	attempts["keyring"] = func() error {
		_, err := unix.AddKey("user", "escape", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
		return err
	}
	attempts["search keys"] = func() error { return reached(call(unix.SYS_REQUEST_KEY)) }
	attempts["keyring of the session"] = func() error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)
		return err
	}
	attempts["module"] = func() error { return reached(call(unix.SYS_INIT_MODULE)) }
	attempts["another kernel"] = func() error { return reached(call(unix.SYS_KEXEC_LOAD, 0, 17, 0, 0)) }
	attempts["kernel log"] = func() error {
		_, err := unix.Klogctl(unix.SYSLOG_ACTION_SIZE_BUFFER, nil)
		return err
	}
	attempts["file events"] = func() error { _, err := unix.FanotifyInit(0, 0); return err }
	attempts["host name"] = func() error {
		name, err := os.Hostname()
		if err != nil {
			return err
		}
		return unix.Sethostname([]byte(name))
	}
	attempts["accounting"] = func() error { return reached(unix.Acct("/nowhere/at/all")) }
	attempts["another interface of calls"] = func() error {
		return reached(call(0x40000000|unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM, 0))
	}
	processes()
}

func processes() {
	attempts["trace"] = func() error {
		if err := unix.PtraceAttach(victim()); err != nil {
			return err
		}
		_, err := unix.Wait4(victim(), nil, 0, nil)
		_ = unix.PtraceDetach(victim())
		return err
	}
	attempts["trace a child"] = func() error {
		cmd := exec.Command("/bin/sh", "-c", "true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
		if err := cmd.Start(); err != nil {
			return err
		}
		_ = cmd.Wait()
		_ = unix.PtraceDetach(cmd.Process.Pid)
		return nil
	}
	attempts["trace the first"] = func() error { return unix.PtraceSeize(1) }
	attempts["read memory"] = func() error {
		b := make([]byte, 8)
		local := []unix.Iovec{{Base: &b[0], Len: 8}}
		_, err := unix.ProcessVMReadv(os.Getpid(), local, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&b[0])), Len: 8}}, 0)
		return err
	}
	attempts["memory file"] = func() error {
		f, err := os.OpenFile("/proc/"+strconv.Itoa(victim())+"/mem", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return f.Close()
	}
	attempts["memory of the first"] = func() error {
		f, err := os.OpenFile("/proc/1/mem", os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return f.Close()
	}
	attempts["take a descriptor"] = func() error {
		fd, err := unix.PidfdOpen(os.Getpid(), 0)
		if err != nil {
			return err
		}
		_, err = unix.PidfdGetfd(fd, 0, 0)
		return err
	}
	attempts["signal by descriptor"] = func() error {
		fd, err := unix.PidfdOpen(victim(), 0)
		if err != nil {
			return err
		}
		return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
	attempts["signal"] = func() error { return unix.Kill(victim(), unix.SIGKILL) }
	attempts["signal a thread"] = func() error { return unix.Tgkill(victim(), victim(), unix.SIGKILL) }
	attempts["queue a signal"] = func() error {
		return call(unix.SYS_RT_SIGQUEUEINFO, uintptr(victim()), uintptr(unix.SIGKILL), uintptr(unsafe.Pointer(&[128]byte{8: 0xff, 9: 0xff, 10: 0xff, 11: 0xff})))
	}
	attempts["priority"] = func() error { return unix.Setpriority(unix.PRIO_PROCESS, victim(), 19) }
	attempts["limits"] = func() error {
		return unix.Prlimit(victim(), unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
	}
	attempts["processors"] = func() error {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(victim(), &set); err != nil {
			return err
		}
		return unix.SchedSetaffinity(victim(), &set)
	}
	attempts["compare processes"] = func() error {
		return call(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(os.Getpid()), 0, 0, 0)
	}
}
