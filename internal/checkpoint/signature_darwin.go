package checkpoint

import (
	"io/fs"
	"syscall"
)

func signatureOf(info fs.FileInfo) signature {
	s := signature{size: info.Size(), mtime: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.change, s.inode = st.Ctimespec.Nano(), st.Ino
	}
	return s
}
