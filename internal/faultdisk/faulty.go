package faultdisk

import (
	"errors"
	"io/fs"
	"slices"
	"sync/atomic"

	"github.com/openagent-go/agent/internal/safefile"
)

// A Kind is a kind of operation on a disk.
type Kind string

// The operations of a disk. Those up to Unlock leave files and folders as they are.
const (
	Open    Kind = "open" // of a file that is there
	Lstat   Kind = "lstat"
	ReadDir Kind = "read folder"
	Read    Kind = "read"
	Stat    Kind = "stat"
	Close   Kind = "close"
	Lock    Kind = "lock"
	Unlock  Kind = "unlock"

	Create     Kind = "create"
	Write      Kind = "write"
	Truncate   Kind = "truncate"
	Sync       Kind = "sync"
	SyncFolder Kind = "sync folder"
	Mkdir      Kind = "make folder"
	Chmod      Kind = "chmod"
	Remove     Kind = "remove"
	Rename     Kind = "rename"
	Link       Kind = "link"
)

// Changes are the operations that change files or folders, or bring changes to the disk.
var Changes = []Kind{Create, Write, Truncate, Sync, SyncFolder, Mkdir, Chmod, Remove, Rename, Link}

// Changes reports whether an operation is one of [Changes].
func (k Kind) Changes() bool { return slices.Contains(Changes, k) }

// An Op is an operation on a file or folder.
type Op struct {
	Kind Kind
	Path string
}

// At returns a function for [Faulty] that fails operation n, counting from 1, and with stays
// all later ones too. It counts operations of the given kinds, or all. done returns how many
// there were.
func At(n int, stays bool, err error, kinds ...Kind) (ask func(Op) error, done func() int) {
	var count atomic.Int64
	ask = func(op Op) error {
		if len(kinds) > 0 && !slices.Contains(kinds, op.Kind) {
			return nil
		}
		if i := int(count.Add(1)); i == n || stays && i > n {
			return err
		}
		return nil
	}
	return ask, func() int { return int(count.Load()) }
}

// Faulty is a disk whose operations fail as Ask says. It asks before each operation. A write
// that fails writes a part of its bytes before, as a disk that fills up does.
type Faulty struct {
	Disk safefile.Disk
	Ask  func(Op) error // nil error: the operation is carried out
}

var _ safefile.Disk = Faulty{}

func (d Faulty) do(k Kind, path string, fn func() error) error {
	if err := d.Ask(Op{k, path}); err != nil {
		return err
	}
	return fn()
}

// Open implements [safefile.Disk].
func (d Faulty) Open(name string, flag int, mode fs.FileMode) (f safefile.File, err error) {
	kind := Open
	if creates(flag) {
		kind = Create
	}
	err = d.do(kind, name, func() error { f, err = d.Disk.Open(name, flag, mode); return err })
	if err != nil {
		return nil, err
	}
	return &faultyFile{f, d}, nil
}

// Lstat implements [safefile.Disk].
func (d Faulty) Lstat(name string) (info fs.FileInfo, err error) {
	err = d.do(Lstat, name, func() error { info, err = d.Disk.Lstat(name); return err })
	return info, err
}

// ReadDir implements [safefile.Disk].
func (d Faulty) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = d.do(ReadDir, name, func() error { list, err = d.Disk.ReadDir(name); return err })
	return list, err
}

// Mkdir implements [safefile.Disk].
func (d Faulty) Mkdir(name string, mode fs.FileMode) error {
	return d.do(Mkdir, name, func() error { return d.Disk.Mkdir(name, mode) })
}

// Chmod implements [safefile.Disk].
func (d Faulty) Chmod(name string, mode fs.FileMode) error {
	return d.do(Chmod, name, func() error { return d.Disk.Chmod(name, mode) })
}

// Remove implements [safefile.Disk].
func (d Faulty) Remove(name string) error {
	return d.do(Remove, name, func() error { return d.Disk.Remove(name) })
}

// Rename implements [safefile.Disk].
func (d Faulty) Rename(from, to string) error {
	return d.do(Rename, from, func() error { return d.Disk.Rename(from, to) })
}

// Link implements [safefile.Disk].
func (d Faulty) Link(from, to string) error {
	return d.do(Link, from, func() error { return d.Disk.Link(from, to) })
}

// SyncFolder implements [safefile.Disk].
func (d Faulty) SyncFolder(name string) error {
	return d.do(SyncFolder, name, func() error { return d.Disk.SyncFolder(name) })
}

// A faultyFile is an open file of a Faulty disk.
type faultyFile struct {
	safefile.File
	disk Faulty
}

func (f *faultyFile) ask(k Kind) error { return f.disk.Ask(Op{k, f.Name()}) }

func (f *faultyFile) Read(p []byte) (int, error) {
	if err := f.ask(Read); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}

func (f *faultyFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.ask(Read); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f *faultyFile) Write(p []byte) (int, error) {
	if err := f.ask(Write); err != nil {
		n, _ := f.File.Write(p[:len(p)*2/3])
		return n, err
	}
	return f.File.Write(p)
}

func (f *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.ask(Write); err != nil {
		n, _ := f.File.WriteAt(p[:len(p)*2/3], off)
		return n, err
	}
	return f.File.WriteAt(p, off)
}

func (f *faultyFile) Stat() (fs.FileInfo, error) {
	if err := f.ask(Stat); err != nil {
		return nil, err
	}
	return f.File.Stat()
}

func (f *faultyFile) Sync() error {
	if err := f.ask(Sync); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faultyFile) Truncate(size int64) error {
	if err := f.ask(Truncate); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

// Close closes the file also when it fails.
func (f *faultyFile) Close() error { return errors.Join(f.ask(Close), f.File.Close()) }

// TryLock implements [safefile.Locker].
func (f *faultyFile) TryLock(mode safefile.Mode) (bool, error) {
	if err := f.ask(Lock); err != nil {
		return false, err
	}
	return safefile.TryLock(f.File, mode)
}

// Unlock implements [safefile.Locker].
func (f *faultyFile) Unlock() error { return errors.Join(f.ask(Unlock), safefile.Unlock(f.File)) }
