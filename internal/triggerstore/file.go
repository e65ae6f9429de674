package triggerstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/safefile"
)

// A File keeps triggers in a JSON file of mode 0600, which several processes may share.
// Each call reads it again. It refuses a file that others may read, or that is not a
// regular file. A file for locking, named .lock, lies beside it.
type File struct {
	Path string // its folder is made with mode 0700 if need be

	mu sync.Mutex
}

const (
	maxFile  = 128 << 20 // bytes that are read
	lockTime = 5 * time.Second
)

// A stored is a Record as it is in the file.
type stored struct {
	Trigger
	Secrets []string `json:"secrets"`
}

// List implements [Store].
func (f *File) List(context.Context) ([]Record, error) {
	records, err := f.read()
	return sorted(records), err
}

// Get implements [Store].
func (f *File) Get(_ context.Context, id string) (Record, error) {
	records, err := f.read()
	if err != nil {
		return Record{}, err
	}
	return get(records, id)
}

// Update implements [Store].
func (f *File) Update(ctx context.Context, id string, change func(*Record) (*Record, error)) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if safefile.Missing(f.Path) {
		if err := safefile.MakeFolders(filepath.Dir(f.Path)); err != nil {
			return fmt.Errorf("making the folder of the triggers: %w", err)
		}
	}
	unlock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	records, err := f.read()
	if err != nil {
		return err
	}
	if err := update(records, id, change); err != nil {
		return err
	}
	return f.write(records)
}

// lock keeps other processes from changing the file. Readers need no lock: the
// file is replaced as a whole.
func (f *File) lock(ctx context.Context) (unlock func() error, err error) {
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	if unlock, err = safefile.Lock(ctx, f.Path+".lock"); err != nil {
		return nil, fmt.Errorf("locking the triggers: %w", err)
	}
	return unlock, nil
}

func (f *File) read() (map[string]Record, error) {
	records := map[string]Record{}
	data, err := readPrivate(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return records, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the triggers: %w", err)
	}
	var list []stored
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("reading the triggers in %s: the file is not a JSON object of triggers; correct it or move it away", f.Path) // the cause could quote a secret
	}
	for _, s := range list {
		r := Record{Trigger: s.Trigger}
		for _, key := range s.Secrets {
			r.Secrets = append(r.Secrets, Secret(key))
		}
		if err := r.Check(); err != nil {
			return nil, fmt.Errorf("reading the triggers in %s: %w", f.Path, err)
		}
		records[r.ID] = r
	}
	return records, nil
}

func readPrivate(path string) ([]byte, error) {
	f, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !private(info.Mode()):
		return nil, fmt.Errorf("%s can be read by others (mode %v); it holds secrets, so its mode must be 0600", path, info.Mode().Perm())
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return io.ReadAll(io.LimitReader(f, maxFile))
}

func (f *File) write(records map[string]Record) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing the triggers: %w", err)
		}
	}()
	list := make([]stored, 0, len(records))
	for _, r := range sorted(records) {
		s := stored{Trigger: r.Trigger}
		for _, key := range r.Secrets {
			s.Secrets = append(s.Secrets, string(key))
		}
		list = append(list, s)
	}
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	if len(data) > maxFile {
		return fmt.Errorf("the file would be larger than %d bytes; remove triggers first", maxFile)
	}
	return safefile.Replacement{Temp: safefile.TempName(f.Path)}.Bytes(f.Path, append(data, '\n')) // under our lock
}
