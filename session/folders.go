package session

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/openagent-go/agent/internal/safefile"
)

// makeFolders makes path and its missing parents, for the owner alone. Existing folders are
// left as they are.
func makeFolders(path string) error {
	if info, err := safefile.Stat(path); err == nil {
		if !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
		}
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := filepath.Dir(path)
	if err := makeFolders(above); err != nil {
		return err
	}
	if err := safefile.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := safefile.Chmod(path, 0o700); err != nil { // the umask may have taken too much
		return err
	}
	return safefile.SyncFolder(above)
}

// makeFolder makes a folder inside of one that is there. One that exists is
// made private and must not be a link.
func makeFolder(path string) error {
	made := safefile.Mkdir(path, 0o700)
	if made != nil && !errors.Is(made, fs.ErrExist) {
		return made
	}
	info, err := safefile.Lstat(path)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
	case runtime.GOOS != "windows" && info.Mode().Perm() != 0o700:
		if err := safefile.Chmod(path, 0o700); err != nil {
			return err
		}
	}
	if made == nil {
		return safefile.SyncFolder(filepath.Dir(path))
	}
	return nil
}
