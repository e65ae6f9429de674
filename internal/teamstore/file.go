package teamstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/safefile"
)

const (
	// lockPatience is how long another program may hold a lock of a space. It does
	// so for the time of one small write, or of reading the journal once.
	lockPatience = 30 * time.Second
	lockPause    = 200 * time.Microsecond // at first
	lockPauses   = 5 * time.Millisecond   // at most
)

// plainName reports whether a space's name can be the name of a folder on every system.
func plainName(space string) bool {
	const most = 128
	special := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
	}
	return space != "" && len(space) <= most && !hashed(space) && !strings.ContainsFunc(space, special) && strings.Trim(space, ".") == space && filepath.IsLocal(space)
}

// localName reports whether a space's name can be the name of a folder on this system,
// as a session.Dir names the folders of sessions by their ids.
func localName(space string) bool {
	const most = 200
	special := func(r rune) bool {
		return r < ' ' || r == 0x7f || strings.ContainsRune(`/\`, r) || runtime.GOOS == "windows" && strings.ContainsRune(`<>:"|?*`, r)
	}
	trimmed := space
	if runtime.GOOS == "windows" { // which drops them
		trimmed = strings.TrimRight(space, ". ")
	}
	return space != "" && space != "." && len(space) <= most && !hashed(space) && trimmed == space && !strings.Contains(space, "..") && !strings.ContainsFunc(space, special) && filepath.IsLocal(space)
}

// hashed reports whether a name is one that [hashName] gives. No space has it as its own.
func hashed(space string) bool {
	digits, ok := strings.CutPrefix(space, "space-")
	_, err := hex.DecodeString(digits)
	return ok && len(digits) == 32 && err == nil
}

// hashName is a name for the folder of a space whose own name does not suit.
func hashName(space string) string {
	sum := sha256.Sum256([]byte(space))
	return "space-" + hex.EncodeToString(sum[:16])
}

// noLinks returns an error if folder, or a folder above it below root, is a symbolic link.
func noLinks(root, folder string) error {
	for root = filepath.Clean(root); len(folder) > len(root); folder = filepath.Dir(folder) {
		if info, err := safefile.Lstat(folder); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a symbolic link, which is not followed; remove it", folder)
		}
	}
	return nil
}

// makeFolder makes a folder and its missing parents, for the owner alone. A link in its
// place is refused.
func makeFolder(path string) error {
	if err := safefile.MkdirAll(path, 0o700); err != nil {
		return err
	}
	info, err := safefile.Lstat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", path)
	}
	return err
}

// A lock is a file that is locked during work on the data that it guards.
type lock struct {
	path string
	file safefile.File // nil: not open
}

// take waits for the lock and creates a missing file. The file goes with its folder, so a
// process that waited for a removed file opens the new one.
func (l *lock) take(ctx context.Context) error {
	wait, pause := time.Duration(0), lockPause
	for {
		if l.file == nil {
			f, err := safefile.Open(l.path, os.O_RDWR|os.O_CREATE)
			if err != nil {
				return fmt.Errorf("opening the lock: %w", err)
			}
			l.file = f
		}
		held, err := safefile.TryLock(l.file, safefile.Exclusive)
		if err != nil {
			return fmt.Errorf("locking %s: %w", l.path, err)
		}
		if held {
			if l.current() {
				return nil
			}
			if err := l.close(); err != nil {
				return err
			}
			continue
		}
		if wait >= lockPatience {
			return fmt.Errorf("locking %s: another program has held it for %s", l.path, lockPatience)
		}
		if err := rest(ctx, pause); err != nil {
			return err
		}
		wait += pause
		pause = min(2*pause, lockPauses)
	}
}

// current reports whether the file is still the one at the path.
func (l *lock) current() bool {
	mine, err := l.file.Stat()
	if err != nil {
		return false
	}
	now, err := safefile.Lstat(l.path)
	return err == nil && safefile.SameFile(mine, now)
}

// release gives the lock back at once: closing alone would leave it with a child
// process that was forked but has not come to its exec yet.
func (l *lock) release() error { return safefile.Unlock(l.file) }

// close closes the file, and gives the lock back if it is held.
func (l *lock) close() error {
	if l.file == nil {
		return nil
	}
	err := errors.Join(safefile.Unlock(l.file), l.file.Close())
	l.file = nil
	return err
}

func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
