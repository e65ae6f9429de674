package safefile

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// A Replacement says how a file gets new content. A reader, or a crash at any moment,
// finds the old content or the new one, whole. A link in the file's place is replaced;
// resolve it first if it should stay. The zero value suits a file for its owner alone.
type Replacement struct {
	Mode fs.FileMode // of the new file, regardless of the umask; 0 means 0600
	// Temp names the temporary file in the same folder. Set it only if you hold a lock of
	// the file, and to a name that nothing else uses, such as that of [TempName]: the next
	// replacement then removes the remains of a crash. "" means a random name.
	Temp  string
	Sync  Sync
	Ready func() error // called before the file gets its name; an error keeps the old one
}

// Sync is the amount of syncing of a replacement.
type Sync int

const (
	SyncAll     Sync = iota // the content and the folder
	SyncContent             // the content; the caller syncs the folder
	SyncNone                // nothing: readers notice content that a power cut has damaged
)

// TempName returns a name for the temporary file of path that no user would choose.
func TempName(path string) string { return filepath.Base(path) + ".openagent-tmp" }

// Bytes replaces the file at path by data.
func (r Replacement) Bytes(path string, data []byte) error {
	return r.Stream(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Stream replaces the file at path by the output of write.
func (r Replacement) Stream(path string, write func(io.Writer) error) error {
	temp, f, err := r.create(filepath.Dir(path))
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil && r.Sync != SyncNone {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil && r.Ready != nil {
		err = r.Ready()
	}
	if err == nil {
		err = Rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, Remove(temp))
	}
	if r.Sync == SyncAll {
		return SyncFolder(filepath.Dir(path))
	}
	return nil
}

// create makes the temporary file.
func (r Replacement) create(folder string) (temp string, f File, err error) {
	const how = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	mode := cmp.Or(r.Mode, 0o600)
	if r.Temp != "" {
		temp = filepath.Join(folder, r.Temp)
		if err := Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", nil, err
		}
		f, err = openMode(temp, how, mode)
		return temp, f, err
	}
	for range 100 {
		temp = filepath.Join(folder, ".tmp-"+strconv.FormatUint(rand.Uint64(), 36))
		if f, err = openMode(temp, how, mode); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return temp, f, err
}
