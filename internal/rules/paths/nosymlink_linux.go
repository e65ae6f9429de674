package paths

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// noOpenat2: the kernel, or a filter of system calls, has none.
var noOpenat2 atomic.Bool

// straight reports whether p, absolute and clean, is known to have no symbolic link
// on the way, nor to be one. The kernel goes along the path in one call: it says
// ELOOP at the first link, and what is after a name that is missing, or that is no
// folder, cannot be a link. A descriptor with O_PATH opens no file, device or pipe.
func straight(p string) bool {
	if noOpenat2.Load() {
		return false
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, p, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	switch err {
	case nil:
		unix.Close(fd)
		return true
	case unix.ENOENT, unix.ENOTDIR:
		return true
	case unix.ENAMETOOLONG: // one of its names: nothing is called so
		return len(p) < unix.PathMax
	case unix.ENOSYS, unix.EPERM:
		noOpenat2.Store(true)
	}
	return false
}
