package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() { programs["limited"] = limited }

// limited LIMIT… COMMAND ARG… runs a command, given by its path or found in PATH, on a
// lesser system. It changes namespaces of its own and nothing outside. The limits are
//
//	no-namespaces  no user namespace can be made
//	no-landlock    the kernel has no Landlock
//	large-pids     processes have numbers of seven digits; needs Linux 6.14
//	read-only=DIR  the disk of a folder is mounted read-only
//	full=DIR:KB    the disk of a folder has so many KB left
//
// It is a program because a limit must hold before the command starts.
func limited() {
	if os.Getenv(limitedVar) == "" {
		limitOutside()
		return
	}
	if err := os.Unsetenv(limitedVar); err != nil {
		limitFailed(err)
	}
	runtime.LockOSThread() // filters are a thread's, and exec keeps those of the one that calls it
	args := os.Args[1:]
	for len(args) > 0 && isLimit(args[0]) {
		if err := setLimit(args[0]); err != nil {
			limitFailed(fmt.Errorf("%s: %w", args[0], err))
		}
		args = args[1:]
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		limitFailed(err)
	}
	limitFailed(syscall.Exec(path, args, os.Environ()))
}

const (
	// limitedVar is set within the namespaces.
	limitedVar = "TEST_LIMITED"
	// cannotLimit is the exit code of limited where a limit cannot be set.
	cannotLimit = 97
)

func limitFailed(err error) {
	fmt.Fprintln(os.Stderr, "limited:", err)
	os.Exit(cannotLimit)
}

// limitOutside starts this program once more in its namespaces.
func limitOutside() {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), limitedVar+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	if slices.Contains(os.Args, "large-pids") {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWPID
	}
	err := cmd.Run()
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		os.Exit(e.ExitCode())
	}
	if err != nil {
		limitFailed(err)
	}
}

func isLimit(arg string) bool {
	name, _, value := strings.Cut(arg, "=")
	return value || slices.Contains([]string{"no-namespaces", "no-landlock", "large-pids"}, name)
}

func setLimit(limit string) error {
	name, value, _ := strings.Cut(limit, "=")
	switch name {
	case "no-namespaces":
		return os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	case "no-landlock":
		return missingCall(unix.SYS_LANDLOCK_CREATE_RULESET)
	case "large-pids":
		if !separatePids() {
			return errors.New("the number is that of the whole machine: Linux 6.14 is needed")
		}
		if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			return err
		}
		return errors.Join(os.WriteFile("/proc/sys/kernel/pid_max", []byte("4194304"), 0), os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte("4000000"), 0))
	case "read-only":
		if err := unix.Mount(value, value, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return err
		}
		return unix.Mount("", value, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
	case "full":
		dir, left, _ := strings.Cut(value, ":")
		kb, err := strconv.Atoi(left)
		if err != nil {
			return err
		}
		return fullDisk(dir, kb)
	}
	return errors.New("there is no such limit")
}

// separatePids reports whether each process namespace has a greatest number of its own.
func separatePids() bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	var major, minor int
	_, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	return err == nil && (major > 6 || major == 6 && minor >= 14)
}

// missingCall has the kernel answer that it does not have a system call.
func missingCall(number uint32) error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
}

// fullDisk mounts a disk of 1 MB over a folder that keeps its files, and fills it up to kb KB.
func fullDisk(dir string, kb int) error {
	kept, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	contents := map[string][]byte{}
	for _, e := range kept {
		if e.Type().IsRegular() {
			if contents[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := unix.Mount("disk", dir, "tmpfs", 0, "size=1m,mode=755"); err != nil {
		return err
	}
	for name, data := range contents {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o755); err != nil {
			return err
		}
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "filler"), make([]byte, int64(fs.Bavail)*int64(fs.Bsize)-int64(kb)<<10), 0o600)
}
