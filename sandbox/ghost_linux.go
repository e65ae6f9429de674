package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/safefile"
)

// A ghost keeps a path from being created: an empty folder that exists while the process
// runs, and that the process sees mounted read-only. It is a folder whatever the name
// stands for: git ignores an empty folder, and removing it removes no one's data. The name
// commondir is an exception: git fails on such a folder, and a file with the text "."
// changes nothing. Our processes that need the same ghost share it by a lock. The time of a
// ghost shows that a killed process has left it.

const (
	fileGhost        = "commondir"
	fileGhostContent = ".\n"
)

// ghosts are those that a process holds, open and locked.
type ghosts []*os.File

// ghostMu: who makes or removes one looks first.
var ghostMu sync.Mutex

// makeGhosts makes ghosts for the missing paths that p keeps from being created. It returns
// them and the paths to mount read-only.
func makeGhosts(p confinement) (g ghosts, kept []string, err error) {
	ghostMu.Lock()
	defer ghostMu.Unlock()
	once := func(name string, existing bool) error {
		first, err := firstMissing(name)
		if err != nil {
			return err
		}
		if first != "" && p.of(filepath.Dir(first)) != writes {
			return nil // nothing can be made there
		}
		if first == "" {
			if existing {
				kept = append(kept, name)
			}
			return nil
		}
		if err := g.make(first); err != nil {
			return err
		}
		kept = append(kept, first)
		return nil
	}
	keep := func(name string, existing bool) (err error) {
		for range 100 {
			// Another program may remove the folder of a ghost at this moment.
			if err = once(name, existing); !errors.Is(err, fs.ErrNotExist) {
				break
			}
		}
		return err
	}
	for _, name := range p.ReadOnly {
		if err == nil {
			err = keep(name, true)
		}
	}
	for _, name := range p.Hidden {
		if err == nil {
			err = keep(name, false)
		}
	}
	if err != nil {
		g.drop()
		return nil, nil, fmt.Errorf("keeping a path of the sandbox from being made: %w", err)
	}
	return g, kept, nil
}

// firstMissing returns the first part of a path that does not exist or is a ghost, "" if
// there is none.
func firstMissing(name string) (string, error) {
	missing := ""
	for {
		info, err := os.Lstat(name)
		switch {
		case err == nil && (isGhost(info) || isNewborn(name, info)):
			missing = name
		case err == nil:
			return missing, nil
		case errors.Is(err, fs.ErrPermission): // no confined process can create it either
			return "", nil
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return "", err
		}
		missing, name = name, filepath.Dir(name)
	}
}

func isGhost(info fs.FileInfo) bool {
	return (info.IsDir() || info.Mode().IsRegular()) && info.ModTime().Equal(plainfile.PlaceholderTime)
}

// newbornAge bounds the time in which another process has made a ghost and not yet set its
// time.
const newbornAge = 10 * time.Second

// isNewborn reports whether a folder or file may be a ghost that another process is making
// right now: it is new, has a name that is usually protected, and holds what a ghost holds.
// A process that shares it keeps it from being removed, and removes it only if it has
// become a ghost.
func isNewborn(name string, info fs.FileInfo) bool {
	if age := time.Since(info.ModTime()); age < 0 || age > newbornAge {
		return false
	}
	if info.IsDir() {
		if filepath.Base(name)[0] != '.' {
			return false // such as an empty project
		}
		entries, err := os.ReadDir(name)
		return err == nil && len(entries) == 0
	}
	return info.Mode().IsRegular() && filepath.Base(name) == fileGhost && info.Size() <= int64(len(fileGhostContent))
}

// make makes a ghost and holds it. Another process may be about to remove its
// ghost of that name.
func (g *ghosts) make(name string) error {
	for range 100 {
		if err := makeGhost(name); err == nil {
			if err := os.Chtimes(name, plainfile.PlaceholderTime, plainfile.PlaceholderTime); err != nil {
				return err
			}
		} else if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if ok, err := g.hold(name); ok || err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("%s comes and goes", name)
}

// hold takes a share in a ghost, so that no other process removes it. It reports whether
// the path exists: as a ghost, or as something else.
func (g *ghosts) hold(name string) (bool, error) {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !isGhost(info) && !isNewborn(name, info):
		return true, nil
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if ok, _ := safefile.TryLock(f, safefile.Shared); !ok { // it is being removed
		return false, f.Close()
	}
	if held, err := f.Stat(); err != nil || !os.SameFile(held, info) || !exists(name) {
		return false, f.Close()
	}
	*g = append(*g, f)
	return true, nil
}

func makeGhost(name string) error {
	if filepath.Base(name) != fileGhost {
		return os.Mkdir(name, 0o755)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(fileGhostContent)
	return errors.Join(err, f.Close())
}

// removeGhost removes a ghost unless someone has put something into it.
func removeGhost(f *os.File, info fs.FileInfo) {
	if info.IsDir() {
		_ = syscall.Rmdir(f.Name())
		return
	}
	b := make([]byte, len(fileGhostContent)+1)
	if n, _ := f.ReadAt(b, 0); string(b[:n]) == fileGhostContent && info.ModTime().Equal(plainfile.PlaceholderTime) {
		_ = syscall.Unlink(f.Name())
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func (g ghosts) release() {
	if len(g) == 0 {
		return
	}
	ghostMu.Lock()
	defer ghostMu.Unlock()
	g.drop()
}

// removeAbandoned removes the ghosts that killed processes have left, and none that a process holds.
func removeAbandoned(p confinement) {
	p, err := p.normal()
	if err != nil {
		return // the first command says why
	}
	ghostMu.Lock()
	defer ghostMu.Unlock()
	var g ghosts
	for _, name := range slices.Concat(p.ReadOnly, p.Hidden) {
		first, err := firstMissing(name)
		if err == nil && first != "" && p.of(filepath.Dir(first)) == writes {
			_, _ = g.hold(first) // what cannot be held stays
		}
	}
	g.drop()
}

// drop removes the ghosts that no other process holds and that are empty.
func (g ghosts) drop() {
	for _, f := range g {
		if ok, _ := safefile.TryLock(f, safefile.Exclusive); ok {
			held, err1 := f.Stat()
			there, err2 := os.Lstat(f.Name())
			if err1 == nil && err2 == nil && os.SameFile(held, there) && isGhost(there) {
				removeGhost(f, held)
			}
		}
		_ = f.Close()
	}
}
