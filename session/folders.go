package session

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/openagent-go/agent/internal/safefile"
)

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
