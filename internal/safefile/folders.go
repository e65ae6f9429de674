package safefile

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
)

// MakeFolders makes a folder and its missing parents, for the owner alone, and brings their
// names to the disk. Call it before the first file of a folder is made: a program that has died
// may have left the folder without a durable name. Folders that are there keep their mode.
func MakeFolders(path string) error {
	above := filepath.Dir(path)
	info, err := Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
	case err == nil:
		return SyncFolder(above)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := MakeFolders(above); err != nil {
		return err
	}
	if err := Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := Chmod(path, 0o700); err != nil { // the umask may have taken too much
		return err
	}
	return SyncFolder(above)
}

// Missing reports whether there is nothing of a name.
func Missing(name string) bool {
	_, err := Lstat(name)
	return errors.Is(err, fs.ErrNotExist)
}
