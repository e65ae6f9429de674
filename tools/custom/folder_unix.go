//go:build unix

package custom

import (
	"io/fs"
	"os"
	"syscall"
)

// executable reports whether somebody may execute a file.
func executable(info fs.FileInfo) bool { return info.Mode().Perm()&0o111 != 0 }

// openToAll reports whether everybody may write to a file or folder.
func openToAll(info fs.FileInfo) bool { return info.Mode().Perm()&0o002 != 0 }

// openFile opens a file for reading without waiting for the other end of a pipe.
func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
