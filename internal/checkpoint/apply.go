package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// stagePrefix begins the names of folders in which new files wait until all are
// there. No checkpoint covers them.
const stagePrefix = ".openagent-restore-"

// A treeRestore brings one tree to the state that its plan describes.
type treeRestore struct {
	*plan
	store *Store
	lock  *lock // of the tree; its file has the name of the waiting room
	name  string
	room  *os.Root
	at    cursor
	// folderModes holds the permission bits that folders get at the end.
	folderModes map[string]fs.FileMode
}

// tidy removes the waiting room of a restore that was killed.
func tidy(l *lock, root string) error {
	data, err := io.ReadAll(io.NewSectionReader(l.file, 0, 100))
	name := string(data)
	if err != nil || !strings.HasPrefix(name, stagePrefix) || strings.ContainsAny(name, `/\`) {
		return err
	}
	top, err := os.OpenRoot(root)
	if err == nil {
		err = errors.Join(top.RemoveAll(name), top.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing files that a restore left behind: %w", err)
	}
	return l.file.Truncate(0)
}

// stage puts the content that will be needed into the waiting room.
func (t *treeRestore) stage(ctx context.Context) (err error) {
	if t.at.top, err = os.OpenRoot(t.root); err != nil || len(t.puts) == 0 {
		return err
	}
	t.loosen("")
	name := stagePrefix + random(16)
	if err := t.lock.file.Truncate(0); err != nil {
		return err
	}
	if _, err := t.lock.file.WriteAt([]byte(name), 0); err != nil {
		return err
	}
	t.name = name
	if err := t.at.top.Mkdir(name, 0o700); err != nil {
		return err
	}
	if t.room, err = enter(t.at.top, name); err != nil {
		return err
	}
	for i, a := range t.puts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.write(t.room, strconv.Itoa(i), a.want); err != nil {
			return fmt.Errorf("writing %s: %w", a.path, err)
		}
	}
	return nil
}

// write makes a file or link.
func (t *treeRestore) write(in *os.Root, name string, e *entry) error {
	if e.kind == link {
		return in.Symlink(e.text, name)
	}
	from, err := t.store.open(object{contents, e.sum})
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := in.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	size, err := io.Copy(f, from)
	if err == nil && size != e.size {
		err = &CorruptError{t.store.path(object{contents, e.sum}.place()...), errors.New("the size is not what was stored")}
	}
	if err == nil {
		err = f.Chmod(e.mode)
	}
	return errors.Join(err, f.Close())
}

// close removes the waiting room. A later restore removes files that remain.
func (t *treeRestore) close() {
	if t.at.top == nil {
		return
	}
	if t.room != nil {
		_ = t.room.Close()
	}
	if t.name != "" && t.at.top.RemoveAll(t.name) == nil {
		_ = t.lock.file.Truncate(0)
	}
	t.setModes()
	t.at.close()
	_ = t.at.top.Close()
}

// apply carries out the plan. Errors that are not about one path end it.
func (t *treeRestore) apply() error {
	for _, path := range t.parents() {
		t.loosen(path)
	}
	steps := []struct {
		list []action
		do   func(int, action, *os.Root, string) error
	}{
		{t.removals, t.remove},
		{t.rmdirs, t.rmdir},
		{t.mkdirs, t.mkdir},
		{t.puts, t.put},
		{t.modes, t.mode},
	}
	for _, s := range steps {
		for i, a := range s.list {
			dir, name := split(a.path)
			in, err := t.at.to(dir)
			if err == nil {
				err = s.do(i, a, in, name)
			}
			if worthStopping(err) {
				return fmt.Errorf("restoring %s: %w", a.path, err)
			}
			if err != nil {
				t.leave(a.path, reason(err))
			}
		}
	}
	return nil
}

// worthStopping reports whether an error is about the machine, not about one file.
func worthStopping(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EIO) || outOfFiles(err)
}

var errMeanwhile = errors.New("another program changed it during the restore")

// unchanged fails unless a name still is the file that was recorded or, with gone, does not
// exist.
func unchanged(in *os.Root, name string, now *node, gone bool) error {
	info, err := in.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		if now == nil || gone {
			return nil
		}
		return errMeanwhile
	}
	if err != nil {
		return err
	}
	if now == nil || info.IsDir() {
		return errMeanwhile
	}
	is := signatureOf(info)
	is.change = now.signature.change // replacing another link of the same file has changed it
	if is != now.signature || info.Mode().IsRegular() != (now.kind == file) {
		return errMeanwhile
	}
	return nil
}

func (t *treeRestore) remove(_ int, a action, in *os.Root, name string) error {
	if err := unchanged(in, name, a.now, true); err != nil {
		return err
	}
	if err := in.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (t *treeRestore) rmdir(_ int, _ action, in *os.Root, name string) error {
	info, err := in.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !info.IsDir() {
		err = errMeanwhile
	}
	if err != nil {
		return err
	}
	return in.Remove(name)
}

func (t *treeRestore) mkdir(_ int, a action, in *os.Root, name string) error {
	err := in.Mkdir(name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		info, err := in.Lstat(name)
		if err == nil && !info.IsDir() {
			err = errMeanwhile
		}
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	t.folderModes[a.path] = a.want.mode
	return nil
}

func (t *treeRestore) put(i int, a action, in *os.Root, name string) error {
	if err := unchanged(in, name, a.now, true); err != nil {
		return err
	}
	err := move(t.room, strconv.Itoa(i), in, name)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	// Another file system is mounted here.
	temp := stagePrefix + random(16)
	if err = t.write(in, temp, a.want); err == nil {
		err = in.Rename(temp, name)
	}
	if err != nil {
		_ = in.Remove(temp)
	}
	return err
}

func (t *treeRestore) mode(_ int, a action, in *os.Root, name string) error {
	if a.want.kind == folder {
		t.folderModes[a.path] = a.want.mode
		return nil
	}
	if err := unchanged(in, name, a.now, false); err != nil {
		return err
	}
	return chmod(in, name, a.want.mode)
}

// chmod changes the permission bits and no others.
func chmod(in *os.Root, name string, mode fs.FileMode) error {
	info, err := in.Lstat(name)
	if err != nil {
		return err
	}
	return in.Chmod(name, info.Mode()&^fs.ModePerm&^fs.ModeType|mode)
}

// loosen makes the entries of a folder changeable, if the folder is ours.
func (t *treeRestore) loosen(path string) {
	in, name := t.at.top, "."
	if path != "" {
		dir, last := split(path)
		above, err := t.at.to(dir)
		if err != nil {
			return
		}
		in, name = above, last
	}
	info, err := in.Lstat(name)
	if err != nil || !info.IsDir() || info.Mode()&0o700 == 0o700 {
		return
	}
	if chmod(in, name, info.Mode().Perm()|0o700) == nil {
		t.folderModes[path] = info.Mode().Perm()
	}
}

// setModes gives folders their permission bits, inner ones first, once.
func (t *treeRestore) setModes() {
	paths := make([]string, 0, len(t.folderModes))
	for path := range t.folderModes {
		paths = append(paths, path)
	}
	slices.SortFunc(paths, func(a, b string) int { return strings.Compare(b, a) })
	for _, path := range paths {
		in, err := t.at.to(path)
		if err == nil {
			err = chmod(in, ".", t.folderModes[path])
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it may have been removed
			t.leave(path, reason(err))
		}
	}
	clear(t.folderModes)
}
