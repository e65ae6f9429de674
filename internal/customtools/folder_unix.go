//go:build unix

package customtools

import (
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// executable reports whether someone may execute a file.
func executable(info fs.FileInfo) bool { return info.Mode().Perm()&0o111 != 0 }

// openToAll reports whether everybody may write to a file or folder.
func openToAll(info fs.FileInfo) bool { return info.Mode().Perm()&0o002 != 0 }

// A stamp changes whenever the content of a file does: no program can set the time of the
// last change (ctime) back.
type stamp struct {
	device, inode uint64
	size          int64
	change        unix.Timespec
}

func (s stamp) changed() time.Time { return time.Unix(s.change.Unix()) }

func newStamp(st *unix.Stat_t) stamp {
	return stamp{uint64(st.Dev), uint64(st.Ino), st.Size, st.Ctim}
}

// stampAt returns the stamp of the file at path; false if there is none.
func stampAt(path string) (stamp, bool) {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return stamp{}, false
	}
	return newStamp(&st), true
}

// stampOf returns the stamp of an open file.
func stampOf(f *os.File) (stamp, bool) {
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil {
		return stamp{}, false
	}
	return newStamp(&st), true
}
