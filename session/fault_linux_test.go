package session_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

func init() { roles["full"] = onFullDisk }

// TestFullDisk starts this program on a small file system of its own. It is full
// after each number of pages, and read-only at last.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	command := func(script string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), unshare, "-Urm", "sh", "-c", script, "sh", dir, exe)
		cmd.Env = append(os.Environ(), role+"=full", "SESSION_TEST_PATH="+dir)
		return cmd
	}
	const mount = `mount -t tmpfs -o size=512k tmpfs "$1"`
	if out, err := command(mount).CombinedOutput(); err != nil {
		t.Skipf("no file system of our own can be mounted here: %v %s", err, out)
	}
	out, err := command(mount + ` && exec "$2"`).CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "full 60 times\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// onFullDisk fills the small disk that d is on, again and again.
func onFullDisk(d session.Folder) error {
	const page = 4 << 10
	filler := filepath.Join(d.Path, "filler")
	for pages := 1; pages <= 60; pages++ {
		if err := fillDisk(filler, int64(pages)*page); err != nil {
			return err
		}
		acked, err := writeUntilFull(d)
		if err != nil {
			return fmt.Errorf("%d pages: %w", pages, err)
		}
		if n, err := intact(d); (err != nil || n < acked) && !(acked == 0 && errors.Is(err, session.ErrNotFound)) {
			return fmt.Errorf("%d pages: %d facts of %d acknowledged ones: %w", pages, n, acked, err)
		}
		if err := os.Remove(filler); err != nil {
			return err
		}
		if err := writeMore(d); err != nil {
			return fmt.Errorf("%d pages: going on: %w", pages, err)
		}
		if err := d.Delete(context.Background(), "s"); err != nil {
			return err
		}
	}
	if err := onReadOnlyDisk(d); err != nil {
		return fmt.Errorf("read-only: %w", err)
	}
	fmt.Println("full 60 times")
	return nil
}

// fillDisk writes a file that leaves so many bytes of the disk.
func fillDisk(name string, left int64) error {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(name), &fs); err != nil {
		return err
	}
	free := int64(fs.Bavail) * int64(fs.Bsize)
	size := free - left
	if size <= 0 {
		return fmt.Errorf("only %d bytes are left", free)
	}
	return os.WriteFile(name, make([]byte, size), 0o600)
}

// writeUntilFull appends facts until the disk is full and returns how many were
// acknowledged.
func writeUntilFull(d session.Folder) (acked int64, err error) {
	log, err := d.Open(context.Background(), "s", session.Header{})
	if errors.Is(err, syscall.ENOSPC) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer log.Close()
	for range 1000 {
		n := log.Last()
		err := log.Append(context.Background(), n, true, factOf(n+1), factOf(n+2))
		switch {
		case err == nil:
			acked = n + 2
		case errors.Is(err, session.ErrBroken) && errors.Is(err, syscall.ENOSPC):
			if !strings.Contains(err.Error(), "what was recorded before is not affected") {
				return acked, fmt.Errorf("it does not say what is safe: %w", err)
			}
			return acked, nil
		default:
			return acked, err
		}
	}
	return acked, errors.New("the disk did not become full")
}

// intact counts the facts of the session, which must be those that were written.
func intact(d session.Folder) (n int64, err error) {
	for e, err := range d.Read(context.Background(), "s", 0) {
		if err != nil {
			return n, err
		}
		if n++; e.Seq != n || e.Data.(event.RunEnd).Text != factOf(n).Data.(event.RunEnd).Text {
			return n, fmt.Errorf("fact %d came back changed", n)
		}
	}
	r, err := session.Verify(context.Background(), d, "s")
	if err == nil && r.Damaged() {
		err = fmt.Errorf("%+v", session.Found(r).Problems)
	}
	return n, err
}

// writeMore continues with the session once there is room.
func writeMore(d session.Folder) error {
	log, err := d.Open(context.Background(), "s", session.Header{})
	if err != nil {
		return err
	}
	n := log.Last()
	if err := errors.Join(log.Append(context.Background(), n, true, factOf(n+1)), log.Close()); err != nil {
		return err
	}
	if got, err := intact(d); err != nil || got != n+1 {
		return fmt.Errorf("%d facts of %d: %w", got, n+1, err)
	}
	return nil
}

// onReadOnlyDisk checks that a disk which becomes read-only is no reason to lose
// anything, or to continue in memory.
func onReadOnlyDisk(d session.Folder) error {
	log, err := d.Open(context.Background(), "s", session.Header{})
	if err != nil {
		return err
	}
	if err := errors.Join(log.Append(context.Background(), 0, true, factOf(1)), log.Close()); err != nil {
		return err
	}
	remount := func(flags uintptr) error {
		return syscall.Mount("tmpfs", d.Path, "tmpfs", syscall.MS_REMOUNT|flags, "")
	}
	if err := remount(syscall.MS_RDONLY); err != nil {
		return err
	}
	if _, err := d.Open(context.Background(), "s", session.Header{}); !errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("opening: %w", err)
	}
	if err := session.Rename(context.Background(), d, "s", "x"); !errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("renaming: %w", err)
	}
	if n, err := intact(d); n != 1 || err != nil {
		return fmt.Errorf("%d facts: %w", n, err)
	}
	if list, err := d.List(context.Background()); len(list) != 1 || err != nil {
		return fmt.Errorf("%d sessions: %w", len(list), err)
	}
	return remount(0)
}
