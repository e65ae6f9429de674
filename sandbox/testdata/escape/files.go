package main

import (
	"encoding/base64"
	"encoding/binary"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	beyond := func(name string) string { return os.Getenv("O") + "/" + name }
	inside := func(name string) string { return os.Getenv("W") + "/" + name }
	attempts["rename exchange"] = func() error {
		if err := os.WriteFile(inside("mine"), nil, 0o600); err != nil {
			return err
		}
		return unix.Renameat2(unix.AT_FDCWD, inside("mine"), unix.AT_FDCWD, beyond("victim"), unix.RENAME_EXCHANGE)
	}
	attempts["nameless file"] = func() error {
		fd, err := unix.Open(os.Getenv("O"), unix.O_TMPFILE|unix.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+string(rune('0'+fd)), unix.AT_FDCWD, beyond("named"), unix.AT_SYMLINK_FOLLOW)
	}
	attempts["attribute"] = func() error { return unix.Setxattr(beyond("victim"), "user.escape", []byte("x"), 0) }
	attempts["owner"] = func() error { return os.Lchown(beyond("victim"), os.Getuid(), os.Getgid()) }
	attempts["times"] = func() error { return unix.Utimes(beyond("victim"), make([]unix.Timeval, 2)) }
	attempts["lease"] = func() error {
		f, err := os.Open(beyond("unheld"))
		if err != nil {
			return err
		}
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
		return err
	}
	attempts["reopen for writing"] = func() error {
		f, err := os.Open(beyond("victim"))
		if err != nil {
			return err
		}
		defer f.Close()
		w, err := os.OpenFile("/proc/self/fd/"+string(rune('0'+f.Fd())), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = w.WriteString("written")
		return err
	}
	attempts["working folder"] = func() error { return os.WriteFile("/proc/self/cwd/../outside/new", nil, 0o600) }
	attempts["file handle"] = func() error {
		b, err := base64.StdEncoding.DecodeString(os.Getenv("HANDLE"))
		if err != nil {
			return err
		}
		mount, err := unix.Open(os.Getenv("W"), unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		handle := unix.NewFileHandle(int32(binary.LittleEndian.Uint32(b)), b[4:])
		fd, err := unix.OpenByHandleAt(mount, handle, unix.O_RDONLY)
		if err != nil {
			return err
		}
		buf := make([]byte, 100)
		n, err := unix.Read(fd, buf)
		os.Stdout.Write(buf[:n])
		return err
	}
	attempts["make a handle"] = func() error {
		_, _, err := unix.NameToHandleAt(unix.AT_FDCWD, os.Getenv("W"), 0)
		return err
	}
	attempts["block device"] = func() error {
		var st unix.Stat_t
		if err := unix.Stat("/", &st); err != nil {
			return err
		}
		name := inside("disk")
		if err := unix.Mknod(name, unix.S_IFBLK|0o600, int(st.Dev)); err != nil {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.Read(make([]byte, 512))
		return err
	}
	attempts["shared memory"] = func() error {
		b, err := unix.SysvShmAttach(number("SHM"), 0, 0)
		if err != nil {
			return err
		}
		copy(b, "written")
		return nil
	}
	attempts["another /dev/null"] = func() error {
		// A file made in /dev stays there; the host's /dev is not touched.
		defer os.Remove("/dev/escape")
		return os.WriteFile("/dev/escape", nil, 0o600)
	}
	attempts["terminal input"] = func() error {
		c := byte('x')
		return reached(call(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&c))))
	}
	attempts["terminal input, high bits"] = func() error {
		c := byte('x')
		return reached(call(unix.SYS_IOCTL, 0, 1<<32|unix.TIOCSTI, uintptr(unsafe.Pointer(&c))))
	}
	attempts["console selection"] = func() error {
		c := byte(2)
		return reached(call(unix.SYS_IOCTL, 0, 0x541c, uintptr(unsafe.Pointer(&c))))
	}
}
