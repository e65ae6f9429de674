package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// The files of a shell are in a folder that the shell writes, and so can a confined
// command. Another thing in place of a file (a symlink, a pipe, a folder) must not mislead
// the host: it writes only new files, and reads only plain files of that folder.

// newFile makes a file in a shell's folder and replaces any entry of its name.
func newFile(folder *os.Root, name string, text []byte) error {
	if err := folder.RemoveAll(name); err != nil {
		return err
	}
	f, err := folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

var errNoFile = errors.New("it is not a plain file any more")

// plainFile reads at most so many bytes of a plain file in a shell's folder.
func plainFile(folder *os.Root, name string, most int64) ([]byte, error) {
	info, err := folder.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for a writer
		return nil, fmt.Errorf("reading %s: %w", name, errNoFile)
	}
	f, err := folder.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		return nil, fmt.Errorf("reading %s: %w", name, errNoFile)
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// hasPlain reports whether a plain file of the name is in a shell's folder.
func hasPlain(folder *os.Root, name string) bool {
	info, err := folder.Lstat(name)
	return err == nil && info.Mode().IsRegular()
}

// copyState makes a folder for a shell that begins like the one in from.
func copyState(from, name string) error {
	err := inFolder(from, func(shell *os.Root) error {
		if err := shell.RemoveAll(name); err != nil {
			return err
		}
		if err := shell.Mkdir(name, 0o700); err != nil {
			return err
		}
		data, err := plainFile(shell, "state", maxState)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoFile) {
			return nil // it begins without one
		} else if err != nil {
			return err
		}
		to, err := shell.OpenRoot(name)
		if err != nil {
			return err
		}
		return errors.Join(newFile(to, "state", data), to.Close())
	})
	if err != nil {
		return fmt.Errorf("preparing the shell: %w", err)
	}
	return nil
}

func inFolder(name string, do func(folder *os.Root) error) error {
	folder, err := os.OpenRoot(name)
	if err != nil {
		return err
	}
	return errors.Join(do(folder), folder.Close())
}
