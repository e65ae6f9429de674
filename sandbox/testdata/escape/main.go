// Command escape tries to get out of a sandbox in the way that its argument names. It
// prints "ESCAPED" if only it can see its success; the test sees the rest from outside. The
// environment names the targets.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

var attempts = map[string]func() error{}

func main() {
	runtime.LockOSThread()
	try, ok := attempts[os.Args[1]]
	if !ok {
		fmt.Println("unknown attempt", os.Args[1])
		os.Exit(2)
	}
	switch err := try(); {
	case err == errOutside:
		return
	case err != nil:
		fmt.Println(os.Args[1]+":", err)
		os.Exit(1)
	}
	fmt.Println("ESCAPED")
}

// errOutside: whether it got out is only seen from outside.
var errOutside = errors.New("not known here")

func outside(err error) error {
	if err == nil {
		return errOutside
	}
	return err
}

func victim() int { return number("VICTIM") }

func number(name string) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		panic(name + " is no number")
	}
	return n
}

func errno(e syscall.Errno) error {
	if e != 0 {
		return e
	}
	return nil
}

// call makes a system call.
func call(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	_, _, e := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	return errno(e)
}

// reached is nil if the system call was not refused before the kernel looked at
// its arguments, which are nonsense.
func reached(err error) error {
	if err == unix.EPERM || err == unix.ENOSYS || err == unix.EACCES {
		return err
	}
	return nil
}

func init() {
	// A process that continues when the program has ended.
	attempts["daemon"] = func() error {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		cmd := exec.Command(os.Args[0], "beat")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return outside(cmd.Start())
	}
	attempts["beat"] = func() error {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		for {
			if err := os.WriteFile(os.Getenv("W")+"/beat", []byte(time.Now().String()), 0o600); err != nil {
				return err
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	attempts["suid"] = func() error {
		if os.Geteuid() != 0 {
			return fmt.Errorf("effective user %d", os.Geteuid())
		}
		return nil
	}
	attempts["capabilities"] = func() error {
		b, err := os.ReadFile("/proc/self/status")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(b)) {
			if set, ok := strings.CutPrefix(line, "CapBnd:"); ok && strings.Trim(set, " \t\n0") != "" {
				return nil
			}
		}
		return fmt.Errorf("there are none")
	}
	attempts["descriptors"] = func() error {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return err
		}
		for _, n := range names {
			fd, _ := strconv.Atoi(n.Name())
			if to, _ := os.Readlink("/proc/self/fd/" + n.Name()); strings.HasPrefix(to, os.Getenv("O")) {
				if _, err := unix.Write(fd, []byte("written")); err == nil {
					return nil
				}
			}
		}
		return fmt.Errorf("none of another file")
	}
}
