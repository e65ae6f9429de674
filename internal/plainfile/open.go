package plainfile

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Open opens a regular file for reading, wherever it is. Devices, pipes and folders are
// refused without waiting for them.
func Open(name string) (*os.File, error) {
	// A pipe would wait for its writer.
	f, err := os.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("opening %s: %w", name, bare(err))
	}
	return f, nil
}

// ReadFile returns the content of a regular file of at most limit bytes.
func ReadFile(name string, limit int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it is larger than %s; make it smaller, or name another one", size(limit))
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, bare(err))
	}
	return data, nil
}

func size(bytes int64) string {
	switch {
	case bytes >= 1<<20:
		return fmt.Sprintf("%d MB", bytes>>20)
	case bytes >= 1<<10:
		return fmt.Sprintf("%d KB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// OpenFolder opens a folder to list or to sync it. Pipes and devices are refused
// without waiting for them.
func OpenFolder(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|nonblock|folderOnly, 0)
}

// OpenFolderIn is [OpenFolder] for a folder in root. Links are followed within root.
func OpenFolderIn(root *os.Root, name string) (*os.File, error) {
	return root.OpenFile(name, os.O_RDONLY|nonblock|folderOnly, 0)
}

// Append opens a regular file for appending and makes a missing one. From then on only its
// owner may read it. It refuses a link, and a file of another user.
func Append(name string) (*os.File, error) {
	if info, err := os.Lstat(name); err == nil {
		if err := regular(info); err != nil { // a link would have its target made
			return nil, fmt.Errorf("opening %s: %w", name, bare(err))
		}
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY|nonblock, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(info)
	}
	if err == nil {
		var there os.FileInfo
		if there, err = os.Lstat(name); err == nil && !os.SameFile(info, there) {
			err = errors.New("it is a link")
		}
	}
	if err == nil {
		err = f.Chmod(0o600)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("opening %s: %w", name, bare(err))
	}
	return f, nil
}
