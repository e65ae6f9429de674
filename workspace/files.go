package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/openagent-go/agent/internal/safefile"
)

// maxFile is the size in bytes of the largest file that Update changes.
const maxFile = 64 << 20

// ErrChanged is matched by the error for a file that something else changed
// while it was being updated.
var ErrChanged = errors.New("changed while it was being written")

// Open opens the file or folder at name for reading, see [Workspace.Resolve]. What it
// returns for a folder is an [fs.ReadDirFile].
// Devices, pipes and sockets are refused without waiting for them. A file elsewhere is read
// while you read it: close it.
func (w *Workspace) Open(ctx context.Context, dir, name string) (fs.File, error) {
	if far := w.elsewhere(); far != nil {
		return far.openFile(ctx, dir, name)
	}
	p, err := w.locate(dir, name, true)
	if err != nil {
		return nil, err
	}
	root, err := p.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := openPlain(root, p)
	if err != nil {
		return nil, err // not a nil *os.File
	}
	return f, nil
}

// openRoot opens the folder at name, see [Workspace.Resolve], and returns its
// resolved path too. Nothing done with the root leaves the folder.
func (w *Workspace) openRoot(dir, name string) (*os.Root, string, error) {
	p, err := w.locate(dir, name, true)
	if err != nil {
		return nil, "", err
	}
	root, err := p.open()
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	sub, err := root.OpenRoot(folder(p.rel))
	if err != nil {
		return nil, "", fmt.Errorf("opening %s: %w", p.path, bare(err))
	}
	return sub, p.path, nil
}

// Update replaces the content of the file at name by the result of change, or creates it
// with its folders; change gets nil if there is no file. No reader sees a half-written
// file; mode and owner stay. Updates of one file happen one after the other. If change
// fails, Update returns its error and writes nothing. Files of more than 64 MB are refused.
func (w *Workspace) Update(ctx context.Context, dir, name string, change func(old []byte) ([]byte, error)) error {
	if far := w.elsewhere(); far != nil {
		return far.updateOne(ctx, dir, name, change)
	}
	p, err := w.locate(dir, name, false)
	if err != nil {
		return err
	}
	defer w.locks.lock(p.path)()
	root, err := p.open()
	if err != nil {
		return err
	}
	defer root.Close()
	old, info, err := load(root, p)
	if err != nil {
		return err
	}
	data, err := change(old)
	if err != nil {
		return err
	}
	if err := replace(root, p, data, info); err != nil {
		return fmt.Errorf("writing %s: %w", p.path, bare(err))
	}
	return nil
}

// WriteFile makes data the content of the file at name, as [Workspace.Update] does.
func (w *Workspace) WriteFile(ctx context.Context, dir, name string, data []byte) error {
	return w.Update(ctx, dir, name, func([]byte) ([]byte, error) { return data, nil })
}

// folder returns the name by which only a folder is opened. Opening a pipe by its
// own name would wait for a writer.
func folder(name string) string { return name + string(filepath.Separator) + "." }

// openPlain opens a regular file or a folder.
func openPlain(root *os.Root, p place) (*os.File, error) {
	info, err := root.Stat(p.rel)
	if err == nil {
		err = plain(info)
	}
	var f *os.File
	if err == nil {
		// The file may have become a pipe: do not wait for its writer.
		f, err = root.OpenFile(p.rel, os.O_RDONLY|nonblock, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", p.path, bare(err))
	}
	if info, err = f.Stat(); err == nil {
		err = plain(info)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("opening %s: %w", p.path, bare(err))
	}
	return f, nil
}

// plain refuses everything except regular files and folders.
func plain(info fs.FileInfo) error {
	switch t := info.Mode().Type(); {
	case t == 0 || t == fs.ModeDir:
		return nil
	case t&fs.ModeNamedPipe != 0:
		return errors.New("it is a named pipe, not a file")
	case t&fs.ModeSocket != 0:
		return errors.New("it is a socket, not a file")
	case t&fs.ModeDevice != 0:
		return errors.New("it is a device, not a file")
	}
	return errors.New("it is not a regular file")
}

// load reads the file at p; data and info are nil if there is none.
func load(root *os.Root, p place) (data []byte, info fs.FileInfo, err error) {
	f, err := openPlain(root, p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", p.path, bare(err))
	}
	if info.IsDir() {
		return nil, nil, fmt.Errorf("%s is a folder, not a file", p.path)
	}
	if info.Size() <= maxFile { // as it says: it may still grow
		data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", p.path, bare(err))
	}
	if info.Size() > maxFile || len(data) > maxFile {
		return nil, nil, fmt.Errorf("%s is too large to change: more than %d MB", p.path, maxFile>>20)
	}
	return data, info, nil
}

// replace puts data in the place of the file whose state was old, nil for none.
func replace(root *os.Root, p place, data []byte, old fs.FileInfo) error {
	folder := filepath.Dir(p.rel)
	if old == nil {
		if err := root.MkdirAll(folder, 0o777); err != nil {
			return err
		}
	} else if err := writable(root, p.rel); err != nil {
		return err
	}
	temp := filepath.Join(folder, ".tmp-"+strconv.FormatUint(rand.Uint64(), 36))
	if err := fill(root, temp, data, old); err != nil {
		return err
	}
	if err := settle(root, temp, p.rel, old); err != nil {
		root.Remove(temp)
		return err
	}
	_ = safefile.SyncFolderIn(root, folder) // the file is in place
	return nil
}

// writable reports why the file cannot be written to: a rename would not ask.
func writable(root *os.Root, rel string) error {
	f, err := root.OpenFile(rel, os.O_WRONLY|nonblock, 0)
	if errors.Is(err, fs.ErrPermission) {
		return err
	}
	if err == nil {
		f.Close()
	}
	return nil
}

// fill creates the file temp with the mode and owner of old. On an error it is gone.
func fill(root *os.Root, temp string, data []byte, old fs.FileInfo) (err error) {
	mode := fs.FileMode(0o666) // as the umask has it
	if old != nil {
		mode = 0o600
	}
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			root.Remove(temp)
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if old != nil {
		keep := fs.ModePerm
		if keepOwner(f, old) {
			keep |= fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
		}
		if err := f.Chmod(old.Mode() & keep); err != nil {
			return err
		}
	}
	return f.Sync()
}

// settle gives temp its name, unless the file has changed since old.
func settle(root *os.Root, temp, rel string, old fs.FileInfo) error {
	now, err := root.Lstat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if old != nil {
			return ErrChanged
		}
	case err != nil:
		return err
	case old == nil || !os.SameFile(now, old) || !now.ModTime().Equal(old.ModTime()) || now.Size() != old.Size():
		return ErrChanged
	}
	return root.Rename(temp, rel)
}

// bare strips operation and path from err: the caller names the whole path.
func bare(err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		return pe.Err
	case errors.As(err, &le):
		return le.Err
	}
	return err
}

// locks serialises work by key. The zero value is ready to use.
type locks struct {
	mu   sync.Mutex
	keys map[string]*lock
}

type lock struct {
	sync.Mutex
	users int
}

// lock waits for key and returns the function that frees it.
func (l *locks) lock(key string) (unlock func()) {
	l.mu.Lock()
	if l.keys == nil {
		l.keys = map[string]*lock{}
	}
	k := l.keys[key]
	if k == nil {
		k = &lock{}
		l.keys[key] = k
	}
	k.users++
	l.mu.Unlock()
	k.Lock()
	return func() {
		k.Unlock()
		l.mu.Lock()
		if k.users--; k.users == 0 {
			delete(l.keys, key)
		}
		l.mu.Unlock()
	}
}
