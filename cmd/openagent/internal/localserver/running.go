package localserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/safefile"
)

// A Server runs on this machine.
type Server struct {
	Address string `json:"address"` // such as http://127.0.0.1:4777
	Dir     string `json:"dir"`     // the folder whose sessions it serves
}

// maxFile is the size of a file about a server, in bytes.
const maxFile = 64 << 10

// An Announcement says that this program is a server. Its file is locked while the program runs: so
// others can tell it from one that a killed server has left behind, whose address may be another
// program's now.
type Announcement struct{ file safefile.File }

// Announce announces a server. The caller closes the announcement when the server ends.
func Announce(h *cli.IO, s Server) (*Announcement, error) {
	folder, err := folderOf(h)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, cli.Usagef("announcing the server: %w; set OPENAGENT_HOME to a writable folder", err)
	}
	sweep(folder)
	b, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	f, err := take(filepath.Join(folder, fmt.Sprintf("%d.json", os.Getpid())))
	if err != nil {
		return nil, fmt.Errorf("announcing the server: %w", err)
	}
	if _, err := f.Write(b); err != nil {
		return nil, errors.Join(fmt.Errorf("announcing the server: %w", err), f.Close())
	}
	return &Announcement{f}, nil
}

// take makes a file and locks it. Others hold the lock only while they look whether it is free. One
// that finds it free before it is locked removes the file.
func take(name string) (safefile.File, error) {
	for range 100 {
		f, err := safefile.Open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
		if err != nil {
			return nil, err
		}
		locked, err := safefile.TryLock(f, safefile.Exclusive)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		now, gone := os.Lstat(name)
		if mine, err := f.Stat(); locked && gone == nil && err == nil && os.SameFile(now, mine) {
			return f, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, fmt.Errorf("another program has locked %s; remove the file", name)
}

// Close withdraws the announcement.
func (a *Announcement) Close() error {
	removing := os.Remove(a.file.Name())
	closing := errors.Join(safefile.Unlock(a.file), a.file.Close())
	if removing != nil { // Windows does not remove an open file
		removing = os.Remove(a.file.Name())
	}
	if errors.Is(removing, fs.ErrNotExist) { // a server that begins has removed it meanwhile
		removing = nil
	}
	return errors.Join(removing, closing)
}

func folderOf(h *cli.IO) (string, error) {
	home, err := h.Home()
	return filepath.Join(home, "serve", "running"), err
}

// Running returns the servers that run, those of the folder dir first.
func Running(h *cli.IO, dir string) ([]Server, error) {
	folder, err := folderOf(h)
	if err != nil {
		return nil, err
	}
	var here, elsewhere []Server
	err = each(folder, func(f safefile.File, free bool) {
		var s Server
		if b, err := io.ReadAll(io.LimitReader(f, maxFile)); free || err != nil || json.Unmarshal(b, &s) != nil {
			return
		}
		if s.Dir == dir {
			here = append(here, s)
		} else {
			elsewhere = append(elsewhere, s)
		}
	})
	return append(here, elsewhere...), err
}

// sweep removes the announcements of servers that were killed.
func sweep(folder string) {
	var open []string // files that Windows does not remove while they are open
	_ = each(folder, func(f safefile.File, free bool) {
		if !free {
			return
		}
		if err := os.Remove(f.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			open = append(open, f.Name())
		}
	})
	for _, name := range open {
		_ = os.Remove(name)
	}
}

// each calls do for all announcements. free: its server has ended.
func each(folder string, do func(f safefile.File, free bool)) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		f, err := safefile.Open(filepath.Join(folder, e.Name()), os.O_RDWR)
		if err != nil {
			continue // it has just ended
		}
		free, err := safefile.TryLock(f, safefile.Shared)
		do(f, free && err == nil)
		if free {
			_ = safefile.Unlock(f)
		}
		_ = f.Close()
	}
	return err
}
