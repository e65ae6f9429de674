package plainfile

import (
	"errors"
	"fmt"
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

// Append opens a regular file to add to it, which it makes where there is none. Only its
// owner may read it from then on; a link, or somebody else's file, is refused.
func Append(name string) (*os.File, error) {
	if info, err := os.Lstat(name); err == nil {
		if err := regular(info); err != nil { // a link would have its target made
			return nil, fmt.Errorf("opening %s: %w", name, err)
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
