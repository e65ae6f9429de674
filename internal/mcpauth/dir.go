package mcpauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/plainfile"
)

// Dir is a [Store] of files, one for each login, that only their owner can read.
// Several programs may use it at once.
type Dir struct{ Path string } // made where it is not there

const maxLogin = 256 << 10 // bytes of a file

// file is that of a login. Its name does not reveal the server.
func (d *Dir) file(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(d.Path, hex.EncodeToString(sum[:16])+".json")
}

// Load implements [Store].
func (d *Dir) Load(_ context.Context, key string) (*Login, error) {
	info, err := os.Lstat(d.file(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("reading %s: it is not a regular file; remove it and log in again", d.file(key))
	}
	data, err := plainfile.ReadFile(d.file(key), maxLogin)
	if err != nil {
		return nil, err
	}
	return d.decode(key, data)
}

func (d *Dir) decode(key string, data []byte) (l *Login, err error) {
	if data == nil {
		return nil, nil
	}
	if json.Unmarshal(data, &l) != nil { // the error might quote the file
		return nil, fmt.Errorf("reading %s: it is damaged; remove it and log in again", d.file(key))
	}
	return l, nil
}

// Update implements [Store].
func (d *Dir) Update(ctx context.Context, key string, change func(*Login) (*Login, error)) error {
	if err := os.MkdirAll(d.Path, 0o700); err != nil {
		return err
	}
	var changed error // by change itself
	for {
		begun := false
		err := config.Update(ctx, d.file(key), 0o600, func(old []byte) ([]byte, error) {
			begun = true
			l, err := d.decode(key, old)
			if err != nil {
				return nil, err
			}
			if l, changed = change(l); changed != nil {
				return nil, changed
			}
			if l == nil && old == nil {
				return nil, nil
			}
			data, err := json.Marshal(l) // null where it is gone
			return append(data, '\n'), err
		})
		switch {
		case changed != nil:
			return changed
		case !begun && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil: // another process is at it
			continue
		}
		return err
	}
}
