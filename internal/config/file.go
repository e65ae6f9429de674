package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/openagent-go/agent/internal/safefile"
)

// A File is a file of settings.
type File struct {
	Scope   Scope  `json:"scope"`
	Path    string `json:"path"`
	Exists  bool   `json:"exists"`
	Sum     string `json:"-"`       // the SHA-256 of what is in it, in hex
	Trusted bool   `json:"trusted"` // its values count, whatever they are

	root string // the folder that it must not lead out of; "": anywhere
}

// Place names the file for those who remember that it is trusted: its path with
// that of the project without symlinks. Symlinks within the project stay, so that
// they cannot borrow the trust in another project's file.
func (f File) Place() string {
	real, err := filepath.EvalSymlinks(f.root)
	if f.root == "" || err != nil {
		return f.Path
	}
	if real, err = filepath.Abs(real); err != nil {
		return f.Path
	}
	return filepath.Join(real, folder, filepath.Base(f.Path))
}

// sameFile reports whether two paths lead to one file that exists.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

// sum identifies the content of a file that was trusted.
func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// read returns what is in a file of at most maxFile bytes. One that is not there
// is nil without an error.
func read(path string) (data []byte, mode fs.FileMode, err error) {
	info, err := os.Stat(path)
	if err != nil {
		if _, err := os.Lstat(path); absent(err) {
			return nil, 0, nil
		}
		return nil, 0, err
	}
	if !info.Mode().IsRegular() { // opening a device may do something
		return nil, 0, errors.New("the path is not a regular file")
	}
	f, err := os.OpenFile(path, os.O_RDONLY|readFlags, 0)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = errors.New("the path is not a regular file")
	}
	if err != nil {
		return nil, 0, err
	}
	data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("the file has more than %d bytes", maxFile)
	}
	return data, info.Mode(), err
}

// absent reports whether there is no such file: where a folder above it is a
// file, there is none either.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir)
}

const (
	lockTime = 15 * time.Second // how long a change waits for others, also on a machine whose disk is busy
	lockNap  = 5 * time.Millisecond
)

// Update replaces a small file by what change makes of it, nil where there is no
// file; change may return the same. The file is never seen half-written, and of
// processes that update it at once none undoes what another did. A symlink stays
// one. A new file has the mode given, an old one keeps its own less the rights
// that the mode does not have, where it is private. The file's folder must exist.
func Update(ctx context.Context, path string, mode fs.FileMode, change func(old []byte) ([]byte, error)) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	free, err := lock(ctx, path+".lock")
	if err != nil {
		return err
	}
	err = replace(path, mode, change)
	return errors.Join(err, free())
}

// replace is [Update] under the file's lock.
func replace(path string, mode fs.FileMode, change func(old []byte) ([]byte, error)) error {
	old, was, err := read(path)
	if err != nil {
		return err
	}
	data, err := change(old)
	if err != nil || data == nil || old != nil && string(data) == string(old) {
		return err
	}
	if len(data) > maxFile {
		return fmt.Errorf("the file would have more than %d bytes", maxFile)
	}
	if old != nil && mode.Perm()&0o077 != 0 { // else it is private
		mode = was.Perm()
	}
	return safefile.Replacement{Mode: mode, Temp: safefile.TempName(path)}.Bytes(path, data)
}

// lock keeps other processes and goroutines from changing a file. What holds it
// is a file beside it, which is removed in the end.
func lock(ctx context.Context, path string) (free func() error, err error) {
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	for {
		f, opening := safefile.Open(path, os.O_RDWR|os.O_CREATE)
		if opening != nil && !beingRemoved(opening) {
			return nil, fmt.Errorf("locking: %w", opening)
		}
		if opening == nil {
			ok, err := safefile.TryLock(f, safefile.Exclusive)
			if ok && current(f, path) {
				return func() error { return freeFile(f) }, nil
			}
			if err != nil {
				return nil, errors.Join(fmt.Errorf("locking: %w", err), f.Close())
			}
			f.Close() // somebody else has it, or had it and removed the file
		}
		select {
		case <-time.After(lockNap):
		case <-ctx.Done():
			if opening != nil {
				return nil, fmt.Errorf("locking: %w", opening)
			}
			return nil, fmt.Errorf("waiting for another process that changes the file: %w", ctx.Err())
		}
	}
}

// current reports whether an open file is the one that is at path now.
func current(f safefile.File, path string) bool {
	mine, err := f.Stat()
	there, err2 := os.Lstat(path)
	return err == nil && err2 == nil && os.SameFile(mine, there) && mine.Mode().IsRegular()
}
