//go:build unix

package workspace

import (
	"io/fs"
	"os"
	"syscall"
)

const nonblock = syscall.O_NONBLOCK

// keepOwner gives f the owner and the group of old, and reports whether the
// system let us: only root may give files away.
func keepOwner(f *os.File, old fs.FileInfo) bool {
	st, ok := old.Sys().(*syscall.Stat_t)
	return ok && f.Chown(int(st.Uid), int(st.Gid)) == nil
}
