package walk

import (
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// entries holds the data for reading a folder: none here.
type entries struct{}

// each calls yield for each entry of the current folder with its name, valid only until
// yield returns, and its type, until yield returns an error.
func (f *Folder) each(yield func(name []byte, kind fs.FileMode) error) error {
	fd, err := openat(f.fd(), ".", unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(fd), ".")
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(atOnce)
		for _, name := range names {
			about, err := f.lstat(name)
			if err != nil {
				continue // gone by now
			}
			if err := yield([]byte(name), about.mode); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
