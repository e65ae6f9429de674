package teamstore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/internal/safefile"
)

// aliveFolder has a file for each program that has running agents in a space. The
// program keeps it locked, so when it dies the system says so.
const aliveFolder = "alive"

// hold returns the name of this program, which it has as long as the store is open.
// The lock of the space is held.
func (s *journalStore) hold(ctx context.Context) (string, error) {
	if s.holder != "" {
		return s.holder, nil
	}
	folder := filepath.Join(s.folder, aliveFolder)
	if err := makeFolder(folder); err != nil {
		return "", fmt.Errorf("making the folder of programs: %w", err)
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	name := hex.EncodeToString(id[:])
	holding := lock{path: filepath.Join(folder, name)}
	if err := holding.take(ctx); err != nil {
		return "", errors.Join(err, holding.close())
	}
	s.holder, s.holding = name, holding
	return name, nil
}

// letGo gives the name of this program back.
func (s *journalStore) letGo() error {
	if s.holder == "" {
		return nil
	}
	s.holder = ""
	_ = safefile.Remove(s.holding.path) // else it exists, and no process holds its lock
	return s.holding.close()
}

// lives reports whether a program that has had running agents is alive. The lock of
// the space is held: two that ask at once would take each other for the program.
func (s *journalStore) lives(holder string) bool {
	if holder == s.holder {
		return holder != ""
	}
	if raw, err := hex.DecodeString(holder); err != nil || len(raw) != 16 {
		return false
	}
	f, err := safefile.Open(filepath.Join(s.folder, aliveFolder, holder), os.O_RDWR)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	free, err := safefile.TryLock(f, safefile.Exclusive)
	if err != nil || !free {
		return true
	}
	_ = safefile.Remove(f.Name())
	_ = safefile.Unlock(f)
	return false
}
