package quota

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/openagent-go/agent/internal/metering"
	"github.com/openagent-go/agent/internal/safefile"
)

// Dir returns a [Store] in a folder, for the processes of one machine. Each book has a file,
// and a file beside it that locks it. A crash at any moment leaves a book whole.
func Dir(path string) Store { return dir{path} }

type dir struct{ path string }

const (
	maxBook = 16 << 20 // bytes
)

// with changes a book under its lock.
func (d dir) with(ctx context.Context, book string, do func(*ledger)) (err error) {
	sum := sha256.Sum256([]byte(book))
	path := filepath.Join(d.path, hex.EncodeToString(sum[:16])+".json")
	if safefile.Missing(path) {
		if err := safefile.MakeFolders(d.path); err != nil {
			return fmt.Errorf("making the folder of quotas: %w", err)
		}
	}
	unlock, err := safefile.Lock(ctx, path+".lock")
	if err != nil {
		return fmt.Errorf("locking the quota %s: %w", book, err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return change(path, book, do)
}

func read(path string) ([]byte, error) {
	f, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBook+1))
	if err == nil && len(data) > maxBook {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxBook)
	}
	return data, errors.Join(err, f.Close())
}

// change changes the book in a file.
func change(path, book string, do func(*ledger)) error {
	file := struct {
		Book string `json:"book"`
		ledger
	}{Book: book}
	data, err := read(path)
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the quota %s: %w", book, err)
	}
	do(&file.ledger)
	changed, err := json.Marshal(file)
	if err == nil && string(changed) != string(data) {
		err = safefile.Replacement{Temp: safefile.TempName(path)}.Bytes(path, changed)
	}
	if err != nil {
		return fmt.Errorf("writing the quota %s: %w", book, err)
	}
	return nil
}

// Reserve implements [Store].
func (d dir) Reserve(ctx context.Context, r Reservation) (b Balance, err error) {
	if err := r.check(); err != nil {
		return b, err
	}
	err = d.with(ctx, r.Book, func(l *ledger) { b = l.reserve(r, time.Now()) })
	return b, err
}

// Settle implements [Store].
func (d dir) Settle(ctx context.Context, book, id string, usd float64) error {
	if err := metering.CheckAmount("usd", usd); err != nil {
		return err
	}
	return d.with(ctx, book, func(l *ledger) { l.settle(id, usd) })
}

// Balance implements [Store].
func (d dir) Balance(ctx context.Context, book string) (b Balance, err error) {
	err = d.with(ctx, book, func(l *ledger) { l.expire(time.Now()); b = l.balance() })
	return b, err
}
