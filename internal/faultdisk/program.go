package faultdisk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/openagent-go/agent/internal/safefile"
)

// ErrDead is the error of all operations of a program that was killed.
var ErrDead = errors.New("the program was killed")

// A Program is what one process sees of a disk, below the folder of [Program.Folder].
// It implements [safefile.Disk].
type Program struct {
	disk   *Disk
	mount  string // the root of the disk
	folder string // in it
	files  map[*file]bool
	killAt int // number of the change that it does not survive; 0: none
	done   int // changes so far
	dead   bool
	died   chan struct{}
	killed func()
	leave  func()
}

var _ safefile.Disk = (*Program)(nil)

// Folder returns the name of a folder of the disk for this program. Every program has another
// name for it.
func (p *Program) Folder() string { return p.folder }

// Path returns the name of a file of the disk for this program.
func (p *Program) Path(parts ...string) string {
	return filepath.Join(append([]string{p.folder}, parts...)...)
}

// KillAt kills the program at its nth change of files or folders from now on, counting from 1:
// before it, after it, or in the middle of it. See [Kind.Changes].
func (p *Program) KillAt(n int) {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	p.killAt = p.done + n
}

// Changes returns how many changes the program has made.
func (p *Program) Changes() int {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	return p.done
}

// Kill ends the program. What it has written stays, its locks are free, and its operations
// fail with [ErrDead] from now on.
func (p *Program) Kill() {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	p.kill()
}

func (p *Program) kill() {
	if p.dead {
		return
	}
	p.dead = true
	for f := range p.files {
		f.closeFile()
	}
	close(p.died)
	if p.killed != nil {
		p.killed()
	}
}

// OnKill calls fn in the moment in which the program is killed, before the operation that kills
// it returns. fn must not use the disk.
func (p *Program) OnKill(fn func()) {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	p.killed = fn
}

// Died is closed when the program was killed.
func (p *Program) Died() <-chan struct{} { return p.died }

// Locks returns how many locks the program holds.
func (p *Program) Locks() (n int) {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	for f := range p.files {
		if _, held := f.node.locked[f]; held {
			n++
		}
	}
	return n
}

// Files returns the names of the files that the program has open, sorted.
func (p *Program) Files() (names []string) {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	for f := range p.files {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return names
}

// Leave makes the names of the program's files those of the machine's file system again, which
// has no such files. Call it when nothing uses the program any more.
func (p *Program) Leave() {
	p.Kill()
	p.leave()
}

// do carries out an operation. part is what is done of it if it fails, and of a write if the
// program does not survive it.
func (p *Program) do(k Kind, path string, whole func() error, part func()) error {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	if p.dead {
		return &fs.PathError{Op: string(k), Path: path, Err: ErrDead}
	}
	if p.disk.Ask != nil {
		if err := p.disk.Ask(Op{k, path}); err != nil {
			if part != nil {
				part()
			}
			return &fs.PathError{Op: string(k), Path: path, Err: err}
		}
	}
	if k.Changes() {
		if p.done++; p.done == p.killAt {
			switch p.disk.rand.IntN(3) {
			case 0:
				_ = whole() // nobody hears how it went
			case 1:
				if k == Write && part != nil {
					part()
				}
			}
			p.kill()
			return &fs.PathError{Op: string(k), Path: path, Err: ErrDead}
		}
	}
	if err := whole(); err != nil {
		var of *fs.PathError
		if errors.As(err, &of) || err == io.EOF {
			return err
		}
		return &fs.PathError{Op: string(k), Path: path, Err: err}
	}
	return nil
}

// split returns the names on the way from the root to a file.
func (p *Program) split(name string) ([]string, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	rest, ok := strings.CutPrefix(name, p.mount)
	if !ok {
		return nil, syscall.EXDEV
	}
	return strings.FieldsFunc(rest, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(byte(r)) }), nil
}

// find returns a file or folder.
func (p *Program) find(name string) (*node, error) {
	names, err := p.split(name)
	at := p.disk.root
	for _, n := range names {
		if !at.folder() {
			return nil, syscall.ENOTDIR
		}
		if at = at.entries[n]; at == nil {
			return nil, fs.ErrNotExist
		}
	}
	return at, err
}

// parent returns the folder that a file is or could be in.
func (p *Program) parent(name string) (*node, string, error) {
	names, err := p.split(name)
	if err == nil && len(names) == 0 {
		err = syscall.EBUSY // the root
	}
	if err != nil {
		return nil, "", err
	}
	at, err := p.find(filepath.Dir(name))
	if err == nil && !at.folder() {
		err = syscall.ENOTDIR
	}
	return at, names[len(names)-1], err
}

func creates(flag int) bool { return flag&(os.O_CREATE|os.O_TRUNC) != 0 }

// Open implements [safefile.Disk].
func (p *Program) Open(name string, flag int, mode fs.FileMode) (safefile.File, error) {
	f := &file{program: p, name: name, flag: flag}
	kind := Open
	p.disk.mu.Lock()
	if there, _ := p.find(name); there == nil && creates(flag) || flag&os.O_TRUNC != 0 {
		kind = Create
	}
	p.disk.mu.Unlock()
	err := p.do(kind, name, func() error {
		in, base, err := p.parent(name)
		if err != nil {
			return err
		}
		n := in.entries[base]
		switch {
		case n == nil && flag&os.O_CREATE == 0:
			return fs.ErrNotExist
		case n == nil:
			if err := p.disk.room(blockSize); err != nil {
				return err
			}
			n = p.disk.newFile(mode)
			in.set(map[string]*node{base: n})
		case flag&os.O_EXCL != 0:
			return fs.ErrExist
		case n.folder():
			return syscall.EISDIR
		}
		if flag&os.O_TRUNC != 0 && len(n.data) > 0 {
			n.truncate(0)
		}
		if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
			n.mode = mode.Perm()
		}
		f.node = n
		p.files[f] = true
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Lstat implements [safefile.Disk].
func (p *Program) Lstat(name string) (out fs.FileInfo, err error) {
	err = p.do(Lstat, name, func() error {
		n, err := p.find(name)
		if err == nil {
			out = n.info(filepath.Base(name))
		}
		return err
	}, nil)
	return out, err
}

// ReadDir implements [safefile.Disk].
func (p *Program) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = p.do(ReadDir, name, func() error {
		n, err := p.find(name)
		if err == nil && !n.folder() {
			err = syscall.ENOTDIR
		}
		if err != nil {
			return err
		}
		for _, base := range sortedNames(n.entries) {
			list = append(list, fs.FileInfoToDirEntry(n.entries[base].info(base)))
		}
		return nil
	}, nil)
	return list, err
}

// Mkdir implements [safefile.Disk].
func (p *Program) Mkdir(name string, mode fs.FileMode) error {
	return p.do(Mkdir, name, func() error {
		if _, err := p.find(name); err == nil {
			return fs.ErrExist
		}
		in, base, err := p.parent(name)
		if err == nil {
			err = p.disk.room(blockSize)
		}
		if err == nil {
			in.set(map[string]*node{base: p.disk.newFolder(mode)})
		}
		return err
	}, nil)
}

// Chmod implements [safefile.Disk].
func (p *Program) Chmod(name string, mode fs.FileMode) error {
	return p.do(Chmod, name, func() error {
		n, err := p.find(name)
		if err == nil {
			n.mode = n.mode&fs.ModeType | mode.Perm()
		}
		return err
	}, nil)
}

// Remove implements [safefile.Disk].
func (p *Program) Remove(name string) error {
	return p.do(Remove, name, func() error {
		n, err := p.find(name)
		if err == nil && len(n.entries) > 0 {
			err = syscall.ENOTEMPTY
		}
		if err != nil {
			return err
		}
		in, base, err := p.parent(name)
		if err == nil {
			in.set(map[string]*node{base: nil})
		}
		return err
	}, nil)
}

// Rename implements [safefile.Disk].
func (p *Program) Rename(from, to string) error {
	return p.do(Rename, from, func() error {
		a, old, err := p.parent(from)
		if err != nil {
			return err
		}
		b, base, err := p.parent(to)
		if err != nil {
			return err
		}
		n, err := p.find(from)
		if err != nil {
			return err
		}
		switch there := b.entries[base]; {
		case there == n:
			return nil
		case there != nil && there.folder():
			return fs.ErrExist // as os.Rename
		case strings.HasPrefix(to, from+string(filepath.Separator)):
			return syscall.EINVAL
		case there != nil && n.folder():
			return syscall.ENOTDIR
		}
		if a == b {
			a.set(map[string]*node{old: nil, base: n})
			return nil
		}
		m := new(move)
		b.setWith(m, map[string]*node{base: n})
		a.setWith(m, map[string]*node{old: nil})
		return nil
	}, nil)
}

// Link implements [safefile.Disk].
func (p *Program) Link(from, to string) error {
	return p.do(Link, from, func() error {
		n, err := p.find(from)
		if err != nil {
			return err
		}
		in, base, err := p.parent(to)
		if err != nil {
			return err
		}
		if in.entries[base] != nil {
			return fs.ErrExist
		}
		if n.folder() {
			return syscall.EPERM
		}
		in.set(map[string]*node{base: n})
		return nil
	}, nil)
}

// SyncFolder implements [safefile.Disk].
func (p *Program) SyncFolder(name string) error {
	return p.do(SyncFolder, name, func() error {
		n, err := p.find(name)
		if err == nil && !n.folder() {
			err = syscall.ENOTDIR
		}
		if err == nil {
			n.syncNames()
		}
		return err
	}, nil)
}
