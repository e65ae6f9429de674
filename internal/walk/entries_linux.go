package walk

import (
	"bytes"
	"encoding/binary"
	"io/fs"

	"golang.org/x/sys/unix"
)

// entries holds the data for reading a folder.
type entries struct{ buf []byte }

// Offsets in struct linux_dirent64, see getdents(2).
const (
	direntLength = 16
	direntType   = 18
	direntName   = 19
)

// each calls yield for each entry of the current folder with its name, valid only until
// yield returns, and its type, until yield returns an error.
func (f *Folder) each(yield func(name []byte, kind fs.FileMode) error) error {
	if f.list.buf == nil {
		f.list.buf = make([]byte, 32<<10)
	}
	fd := f.fd()
	if _, err := unix.Seek(fd, 0, 0); err != nil {
		return err
	}
	for {
		var n int
		err := retry(func() (err error) {
			n, err = unix.Getdents(fd, f.list.buf)
			return err
		})
		if n <= 0 || err != nil {
			return err
		}
		for rest := f.list.buf[:n]; len(rest) > direntName; {
			length := int(binary.NativeEndian.Uint16(rest[direntLength:]))
			entry := rest[:length]
			rest = rest[length:]
			name, _, _ := bytes.Cut(entry[direntName:], []byte{0})
			if string(name) == "." || string(name) == ".." {
				continue
			}
			kind, known := kindOf(entry[direntType])
			if !known {
				about, err := f.lstat(string(name))
				if err != nil {
					continue // gone by now
				}
				kind = about.mode
			}
			if err := yield(name, kind); err != nil {
				return err
			}
		}
	}
}

func kindOf(t byte) (kind fs.FileMode, known bool) {
	switch t {
	case unix.DT_UNKNOWN:
		return 0, false
	case unix.DT_REG:
		return 0, true
	case unix.DT_DIR:
		return fs.ModeDir, true
	case unix.DT_LNK:
		return fs.ModeSymlink, true
	}
	return fs.ModeIrregular, true
}
