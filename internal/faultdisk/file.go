package faultdisk

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/openagent-go/agent/internal/safefile"
)

// A file is an open file of a program.
type file struct {
	program *Program
	name    string
	flag    int
	node    *node
	at      int64
	closed  bool
}

var (
	_ safefile.File   = (*file)(nil)
	_ safefile.Locker = (*file)(nil)
)

func (f *file) do(k Kind, whole func() error, part func()) error {
	return f.program.do(k, f.name, func() error {
		if f.closed {
			return fs.ErrClosed
		}
		return whole()
	}, part)
}

func (f *file) Name() string { return f.name }

func (f *file) Stat() (out fs.FileInfo, err error) {
	err = f.do(Stat, func() error { out = f.node.info(filepath.Base(f.name)); return nil }, nil)
	return out, err
}

func (f *file) Read(p []byte) (n int, err error) {
	err = f.do(Read, func() error {
		n, err = f.read(p, f.at)
		f.at += int64(n)
		if n > 0 {
			return nil
		}
		return err
	}, nil)
	return n, err
}

func (f *file) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.do(Read, func() error { n, err = f.read(p, off); return err }, nil)
	return n, err
}

func (f *file) read(p []byte, off int64) (int, error) {
	if f.flag&os.O_WRONLY != 0 {
		return 0, syscall.EBADF
	}
	if off >= int64(len(f.node.data)) {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) Write(p []byte) (n int, err error) {
	write := func(p []byte) error {
		if f.flag&os.O_APPEND != 0 {
			f.at = int64(len(f.node.data))
		}
		n, err = f.write(p, f.at)
		f.at += int64(n)
		return err
	}
	err = f.do(Write, func() error { return write(p) }, func() { _ = write(f.part(p)) })
	return n, err
}

func (f *file) WriteAt(p []byte, off int64) (n int, err error) {
	write := func(p []byte) error { n, err = f.write(p, off); return err }
	err = f.do(Write, func() error { return write(p) }, func() { _ = write(f.part(p)) })
	return n, err
}

// part is what is written of p when a write fails.
func (f *file) part(p []byte) []byte {
	if f.closed || len(p) == 0 {
		return nil
	}
	return p[:f.program.disk.rand.IntN(len(p))]
}

// write writes what there is room for.
func (f *file) write(p []byte, off int64) (int, error) {
	if f.flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		return 0, syscall.EBADF
	}
	d := f.program.disk
	if grows := off + int64(len(p)) - int64(len(f.node.data)); grows > 0 && d.room(grows) != nil {
		fits := max(int64(len(p))-grows+d.left(), 0)
		f.node.write(off, p[:fits])
		return int(fits), syscall.ENOSPC
	}
	f.node.write(off, p)
	return len(p), nil
}

func (f *file) Sync() error {
	// A system forgets what it could not write.
	return f.do(Sync, func() error { f.node.sync(); return nil }, f.node.drop)
}

func (f *file) Truncate(size int64) error {
	return f.do(Truncate, func() error {
		if f.flag&(os.O_WRONLY|os.O_RDWR) == 0 {
			return syscall.EINVAL
		}
		f.node.truncate(size)
		return nil
	}, nil)
}

func (f *file) Close() error {
	return f.do(Close, func() error { f.closeFile(); return nil }, f.closeFile)
}

// closeFile closes the file and gives its lock back. The lock of the disk is held.
func (f *file) closeFile() {
	f.closed = true
	delete(f.program.files, f)
	delete(f.node.locked, f)
}

// TryLock implements [safefile.Locker].
func (f *file) TryLock(mode safefile.Mode) (got bool, err error) {
	err = f.do(Lock, func() error {
		exclusive := mode == safefile.Exclusive
		if got = f.node.free(f, exclusive); got {
			if f.node.locked == nil {
				f.node.locked = map[*file]bool{}
			}
			f.node.locked[f] = exclusive
		}
		return nil
	}, nil)
	return got, err
}

// Unlock implements [safefile.Locker].
func (f *file) Unlock() error {
	unlock := func() { delete(f.node.locked, f) }
	return f.do(Unlock, func() error { unlock(); return nil }, unlock)
}
