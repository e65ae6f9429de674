//go:build unix

package tooloutput

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

func userName() string { return strconv.Itoa(os.Getuid()) }

// private reports whether only this user can use a folder.
func private(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid() && info.Mode().Perm()&0o077 == 0
}
