//go:build unix

package workspace

import (
	"io/fs"
	"os"
	"syscall"
)

const nonblock = syscall.O_NONBLOCK

// keepOwner gives f the owner of old where the system lets us: only root may
// give files away, and for others the owner is the same already.
func keepOwner(f *os.File, old fs.FileInfo) {
	if st, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}

// syncDir makes a rename in the folder survive a power cut.
func syncDir(root *os.Root, folder string) {
	d, err := root.Open(folder)
	if err != nil {
		return // a folder that may be written to but not read
	}
	defer d.Close()
	_ = d.Sync() // some file systems refuse it for folders; the file is in place
}
