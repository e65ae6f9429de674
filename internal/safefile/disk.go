package safefile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// A Disk carries out the operations of this package below a folder; see [Mount]. The file
// system of the machine is one: [System].
type Disk interface {
	// Open opens a regular file, as [Open] does. A file that is made gets the mode.
	Open(name string, flag int, mode fs.FileMode) (File, error)
	Lstat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Mkdir(name string, mode fs.FileMode) error
	Chmod(name string, mode fs.FileMode) error
	Remove(name string) error
	Rename(from, to string) error
	Link(from, to string) error
	SyncFolder(name string) error
}

// A File is an open file. An [os.File] is one.
type File interface {
	io.ReadWriteCloser
	io.ReaderAt
	io.WriterAt
	Name() string
	Stat() (fs.FileInfo, error)
	Sync() error
	Truncate(size int64) error
}

// A Locker is a [File] of a [Disk] with locks of its own, as those of [TryLock].
type Locker interface {
	TryLock(Mode) (bool, error)
	Unlock() error
}

// An Identity is the [fs.FileInfo] of a [Disk] with files of its own.
type Identity interface {
	SameFile(fs.FileInfo) bool
}

type mount struct {
	folder string
	disk   Disk
}

// mounts are the disks of folders, deepest first. Programs have none.
var (
	mounts  atomic.Pointer[[]mount]
	mountMu sync.Mutex // held while mounts change
)

// Mount lets a disk carry out what the functions of this package do in a folder and below it,
// until unmount is called. Tests use it for disks that fail. The folder need not exist. It is
// the same text in all names that the disk is given.
func Mount(folder string, d Disk) (unmount func()) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		panic(err) // the working folder is gone
	}
	change := func(drop bool) {
		mountMu.Lock()
		defer mountMu.Unlock()
		var all []mount
		if old := mounts.Load(); old != nil {
			all = slices.DeleteFunc(slices.Clone(*old), func(m mount) bool { return m.folder == folder })
		}
		if !drop {
			all = append(all, mount{folder, d})
		}
		slices.SortFunc(all, func(a, b mount) int { return len(b.folder) - len(a.folder) })
		if len(all) == 0 {
			mounts.Store(nil)
			return
		}
		mounts.Store(&all)
	}
	change(false)
	return sync.OnceFunc(func() { change(true) })
}

// mounted returns the disk of a file, nil for the file system.
func mounted(name string) Disk {
	all := mounts.Load()
	if all == nil {
		return nil
	}
	name, err := filepath.Abs(name)
	if err != nil {
		return nil
	}
	for _, m := range *all {
		if rest, ok := strings.CutPrefix(name, m.folder); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
			return m.disk
		}
	}
	return nil
}

// Lstat is [os.Lstat].
func Lstat(name string) (fs.FileInfo, error) {
	if d := mounted(name); d != nil {
		return d.Lstat(name)
	}
	return os.Lstat(name)
}

// Stat is [os.Stat]. Mounted disks have no links.
func Stat(name string) (fs.FileInfo, error) {
	if d := mounted(name); d != nil {
		return d.Lstat(name)
	}
	return os.Stat(name)
}

// ReadDir is [os.ReadDir].
func ReadDir(name string) ([]fs.DirEntry, error) {
	if d := mounted(name); d != nil {
		return d.ReadDir(name)
	}
	return os.ReadDir(name)
}

// Mkdir is [os.Mkdir].
func Mkdir(name string, mode fs.FileMode) error {
	if d := mounted(name); d != nil {
		return d.Mkdir(name, mode)
	}
	return os.Mkdir(name, mode)
}

// MkdirAll is [os.MkdirAll].
func MkdirAll(name string, mode fs.FileMode) error {
	d := mounted(name)
	if d == nil {
		return os.MkdirAll(name, mode)
	}
	info, err := d.Lstat(name)
	switch {
	case err == nil && !info.IsDir():
		return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.ENOTDIR}
	case err == nil || !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := MkdirAll(filepath.Dir(name), mode); err != nil {
		return err
	}
	if err := d.Mkdir(name, mode); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Chmod is [os.Chmod].
func Chmod(name string, mode fs.FileMode) error {
	if d := mounted(name); d != nil {
		return d.Chmod(name, mode)
	}
	return os.Chmod(name, mode)
}

// Remove is [os.Remove].
func Remove(name string) error {
	if d := mounted(name); d != nil {
		return d.Remove(name)
	}
	return os.Remove(name)
}

// RemoveAll is [os.RemoveAll].
func RemoveAll(name string) error {
	d := mounted(name)
	if d == nil {
		return os.RemoveAll(name)
	}
	info, err := d.Lstat(name)
	if err == nil && info.IsDir() {
		var inside []fs.DirEntry
		inside, err = d.ReadDir(name)
		for _, e := range inside {
			if err == nil {
				err = RemoveAll(filepath.Join(name, e.Name()))
			}
		}
	}
	if err == nil {
		err = d.Remove(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Rename is [os.Rename]. On Windows it waits up to two seconds for programs that have a file open.
// Use a [Replacement] for new content.
func Rename(from, to string) error {
	if d := mounted(from); d != nil {
		return d.Rename(from, to)
	}
	return rename(from, to)
}

// Link is [os.Link].
func Link(from, to string) error {
	if d := mounted(from); d != nil {
		return d.Link(from, to)
	}
	return os.Link(from, to)
}

// SyncFolder brings the names in a folder to the disk, as far as the file system can.
// It leaves a folder that you may write to but not read to the system.
func SyncFolder(name string) error {
	if d := mounted(name); d != nil {
		return d.SyncFolder(name)
	}
	return syncFolder(openFolder(name))
}

// SameFile is [os.SameFile], also for files of mounted disks.
func SameFile(a, b fs.FileInfo) bool {
	if a, ok := a.(Identity); ok {
		return a.SameFile(b)
	}
	return os.SameFile(a, b)
}

// System is the file system of the machine, for disks that do something else now and then.
type System struct{}

func (System) Open(name string, flag int, mode fs.FileMode) (File, error) {
	f, err := openSystem(name, flag, mode)
	if err != nil {
		return nil, err // not a nil *os.File in a File
	}
	return f, nil
}

func (System) Lstat(name string) (fs.FileInfo, error)     { return os.Lstat(name) }
func (System) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (System) Mkdir(name string, mode fs.FileMode) error  { return os.Mkdir(name, mode) }
func (System) Chmod(name string, mode fs.FileMode) error  { return os.Chmod(name, mode) }
func (System) Remove(name string) error                   { return os.Remove(name) }
func (System) Rename(from, to string) error               { return rename(from, to) }
func (System) Link(from, to string) error                 { return os.Link(from, to) }
func (System) SyncFolder(name string) error               { return syncFolder(openFolder(name)) }
