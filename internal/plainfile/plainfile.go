// Package plainfile reads files of folders that someone else may write to: regular
// ones within the folder, and no more of them than is wanted.
package plainfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// PlaceholderTime marks an empty folder with which a sandbox keeps a missing path from being made.
// In place of a file, such a folder counts as missing.
var PlaceholderTime = time.Unix(1, 0)

// Read returns up to limit bytes of the file at name in root, and whether that is all
// of it. Symlinks are followed within root; devices, pipes and folders are refused
// without waiting for them.
func Read(root *os.Root, name string, limit int) (data []byte, whole bool, err error) {
	info, err := root.Stat(name)
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading %s: %w", name, bare(err))
	}
	// The file may have become a pipe: do not wait for its writer.
	f, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, false, fmt.Errorf("reading %s: %w", name, bare(err))
	}
	defer f.Close()
	if info, err = f.Stat(); err == nil {
		err = regular(info)
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading %s: %w", name, bare(err))
	}
	data = make([]byte, 0, min(info.Size(), int64(limit))+1)
	for len(data) <= limit {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := f.Read(data[len(data):min(cap(data), limit+1)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, false, fmt.Errorf("reading %s: %w", name, bare(err))
		}
	}
	return data[:min(len(data), limit)], len(data) <= limit, nil
}

func regular(info fs.FileInfo) error {
	if info.IsDir() && info.ModTime().Equal(PlaceholderTime) {
		return fs.ErrNotExist
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("it is %s, not a regular file; put a file in its place, or name another one", kind(info.Mode()))
	}
	return nil
}

// kind names the kind of a file that is not regular.
func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	case m&fs.ModeSymlink != 0:
		return "a link"
	}
	return "something else"
}

// bare is the error without the name of the file.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
