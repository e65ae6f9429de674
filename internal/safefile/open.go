package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// Open opens a regular file. It follows no link in the file's place and waits for no
// pipe. A file that is made, or opened for writing, is for its owner alone afterwards.
func Open(name string, flag int) (File, error) { return openMode(name, flag, 0o600) }

func openMode(name string, flag int, mode fs.FileMode) (File, error) {
	if d := mounted(name); d != nil {
		return d.Open(name, flag, mode)
	}
	f, err := openSystem(name, flag, mode)
	if err != nil {
		return nil, err // not a nil *os.File in a File
	}
	return f, nil
}

func openSystem(name string, flag int, mode fs.FileMode) (*os.File, error) {
	if err := refuseLink(name); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, flag|OpenFlags, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	made := flag&os.O_EXCL != 0
	if err == nil && flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		err = setMode(f, info, mode)
		if made && errors.Is(err, fs.ErrPermission) {
			err = nil // the file is ours, and its file system keeps no modes, as FAT
		}
	}
	if err != nil {
		err = errors.Join(err, f.Close())
		if made {
			err = errors.Join(err, os.Remove(name))
		}
		return nil, err
	}
	return f, nil
}

// setMode gives f its mode, regardless of the umask. On Windows a new file inherits the
// access list of its folder, and a mode says only whether the file can be written to.
func setMode(f *os.File, info fs.FileInfo, mode fs.FileMode) error {
	if info.Mode().Perm() == mode.Perm() || runtime.GOOS == "windows" && mode.Perm()&0o200 != 0 {
		return nil
	}
	return f.Chmod(mode.Perm())
}

// SyncFolderIn is [SyncFolder] for a folder in root.
func SyncFolderIn(root *os.Root, name string) error {
	return syncFolder(openFolderIn(root, name))
}

func syncFolder(d *os.File, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if d == nil || err != nil { // nil on Windows
		return err
	}
	err = d.Sync()
	if unsyncable(err) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
