//go:build unix

package workspace

import (
	"io/fs"
	"os"
	"syscall"

	"github.com/openagent-go/agent/internal/plainfile"
)

const nonblock = syscall.O_NONBLOCK

// keepOwner gives f the owner and the group of old, and reports whether the
// system let us: only root may give files away.
func keepOwner(f *os.File, old fs.FileInfo) bool {
	st, ok := old.Sys().(*syscall.Stat_t)
	return ok && f.Chown(int(st.Uid), int(st.Gid)) == nil
}

// syncDir makes a rename in the folder survive a power cut.
func syncDir(root *os.Root, folder string) {
	d, err := plainfile.OpenFolderIn(root, folder)
	if err != nil {
		return // a folder that may be written to but not read
	}
	defer d.Close()
	_ = d.Sync() // some file systems refuse it for folders; the file is in place
}
