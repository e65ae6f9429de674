package triggerstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/internal/safefile"
)

// In returns the part of a store that belongs to a folder: the triggers whose Dir
// is dir, an absolute path. Others are neither seen nor changed through it, and
// new ones get the folder.
func In(s Store, dir string) Store { return folder{s, dir} }

type folder struct {
	store Store
	dir   string
}

// List implements [Store].
func (f folder) List(ctx context.Context) ([]Record, error) {
	all, err := f.store.List(ctx)
	var mine []Record
	for _, r := range all {
		if r.Dir == f.dir {
			mine = append(mine, r)
		}
	}
	return mine, err
}

// Get implements [Store].
func (f folder) Get(ctx context.Context, id string) (Record, error) {
	r, err := f.store.Get(ctx, id)
	if err == nil && r.Dir != f.dir {
		return Record{}, fmt.Errorf("looking for a trigger in %s: %w", f.dir, ErrUnknown)
	}
	return r, err
}

// Update implements [Store].
func (f folder) Update(ctx context.Context, id string, change func(*Record) (*Record, error)) error {
	return f.store.Update(ctx, id, func(old *Record) (*Record, error) {
		if old != nil && old.Dir != f.dir {
			return nil, fmt.Errorf("changing a trigger in %s: %w", f.dir, ErrUnknown)
		}
		r, err := change(old)
		if r != nil {
			r.Dir = f.dir
		}
		return r, err
	})
}

// ErrServed is matched by the error for triggers that another process answers for.
var ErrServed = errors.New("another process already serves these triggers")

// Claim makes this process the one that answers for the triggers of a folder: a
// request that two processes answer for would run twice. It holds until it is
// given back or the process dies. The error matches [ErrServed] if another
// process has it, or this one.
func (f *File) Claim(dir string) (release func() error, err error) {
	if err := safefile.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the triggers: %w", err)
	}
	sum := sha256.Sum256([]byte(dir))
	file, err := safefile.Open(f.Path+"."+hex.EncodeToString(sum[:8])+".lock", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("claiming the triggers of %s: %w", dir, err)
	}
	ok, err := safefile.TryLock(file, safefile.Exclusive)
	if !ok && err == nil {
		err = ErrServed
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("claiming the triggers of %s: %w", dir, err), file.Close())
	}
	return func() error { return errors.Join(safefile.Unlock(file), file.Close()) }, nil
}

// isFolder reports whether a path can be that of a trigger's folder.
func isFolder(dir string) bool {
	return dir == "" || filepath.IsAbs(dir) && len(dir) <= maxDir && !strings.ContainsRune(dir, 0)
}
