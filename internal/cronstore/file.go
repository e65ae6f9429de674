package cronstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/openagent-go/agent/internal/safefile"
	"github.com/openagent-go/agent/internal/text"
)

const (
	fileVersion = 1
	maxFile     = 16 << 20 // bytes
	// lockPatience is how long another program may hold the lock. It does so for
	// the time of one small write.
	lockPatience = 10 * time.Second
	lockPause    = 5 * time.Millisecond
)

// A File keeps the jobs in a file of JSON, for all programs of this machine that
// are given the same path. Beside it is an empty file with the ending ".lock",
// which is locked during an update. Both are for the owner alone. The file is
// replaced as a whole, so that a reader and a crash find it before or after an
// update. A file that cannot be understood is an [ErrUnreadable] and stays as it
// is.
type File struct {
	Path string // its folder is made when need be
}

// content is the format of the file.
type content struct {
	Version  int   `json:"openagent_cron"`
	Revision int64 `json:"revision"` // counts the updates
	Jobs     []Job `json:"jobs"`
}

// Load implements [Store]. A file that is not there has no jobs.
func (f File) Load(context.Context) ([]Job, error) {
	c, err := f.read()
	return c.Jobs, err
}

// Version implements [Store].
func (f File) Version(context.Context) (string, error) {
	file, info, err := f.open()
	if file == nil {
		return "", err
	}
	defer file.Close()
	// The beginning holds the revision: times of files are too coarse to tell two
	// updates apart, and an editor leaves the revision as it was.
	head := make([]byte, 64)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading %s: %w", f.Path, err)
	}
	return fmt.Sprintf("%d %d %s", info.ModTime().UnixNano(), info.Size(), head[:n]), nil
}

// Update implements [Store].
func (f File) Update(ctx context.Context, fn func([]Job) ([]Job, error)) (err error) {
	if safefile.Missing(f.Path) {
		if err := safefile.MakeFolders(filepath.Dir(f.Path)); err != nil {
			return fmt.Errorf("making the folder of the schedule: %w", err)
		}
	}
	lock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, safefile.Unlock(lock), lock.Close()) }()
	c, err := f.read()
	if err != nil {
		return err
	}
	if c.Jobs, err = fn(c.Jobs); err != nil {
		return err
	}
	c.Version = fileVersion
	c.Revision++
	return f.write(c)
}

// open opens the file; nil where there is none.
func (f File) open() (safefile.File, fs.FileInfo, error) {
	file, err := safefile.Open(f.Path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("opening the schedule: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("opening %s: %w", f.Path, err)
	}
	return file, info, nil
}

func (f File) read() (content, error) {
	file, _, err := f.open()
	if file == nil {
		return content{}, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return content{}, fmt.Errorf("reading %s: %w", f.Path, err)
	}
	c, err := decode(data)
	if err != nil {
		return content{}, fmt.Errorf("%w: %s: %w; correct the file or move it away", ErrUnreadable, f.Path, err)
	}
	return c, nil
}

func decode(data []byte) (content, error) {
	var c content
	if len(data) > maxFile {
		return c, fmt.Errorf("the file is larger than %d MB", maxFile>>20)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&c); err != nil {
		return content{}, err
	}
	if _, err := d.Token(); err != io.EOF {
		return content{}, errors.New("more text follows the JSON object")
	}
	if c.Version != fileVersion {
		return content{}, fmt.Errorf("the file has version %d, but this program reads version %d", c.Version, fileVersion)
	}
	ids := map[string]bool{}
	for _, j := range c.Jobs {
		if j.ID == "" || ids[j.ID] {
			return content{}, fmt.Errorf("the id %q is empty or used twice", text.Bytes(j.ID, maxShown))
		}
		ids[j.ID] = true
	}
	return c, nil
}

// write replaces the file.
func (f File) write(c content) error {
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encoding the schedule: %w", err)
	}
	if data = append(data, '\n'); len(data) > maxFile {
		return fmt.Errorf("writing the schedule: the file would be larger than %d MB; remove jobs first", maxFile>>20)
	}
	// A claim that a crash undoes would be run twice, so the folder is synced too.
	if err := (safefile.Replacement{Temp: safefile.TempName(f.Path)}).Bytes(f.Path, data); err != nil {
		return fmt.Errorf("writing the schedule: %w", err)
	}
	return nil
}

// lock waits for the lock.
func (f File) lock(ctx context.Context) (safefile.File, error) {
	name := f.Path + ".lock"
	file, err := safefile.Open(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("locking the schedule: %w", err)
	}
	for patience := lockPatience; ; patience -= lockPause {
		held, err := safefile.TryLock(file, safefile.Exclusive)
		if held && err == nil {
			return file, nil
		}
		if err == nil && patience <= 0 {
			err = fmt.Errorf("another program has held %s for %s; try again later", name, lockPatience)
		}
		if err == nil {
			err = pause(ctx, lockPause)
		}
		if err != nil {
			file.Close()
			return nil, fmt.Errorf("locking the schedule: %w", err)
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
