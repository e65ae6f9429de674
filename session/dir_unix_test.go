//go:build unix

package session_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/sessiontest"
)

// Folders have 0700 and files 0600, whatever the umask is and was.
func TestModes(t *testing.T) {
	for _, mask := range []int{0, 0o022, 0o777} {
		root := filepath.Join(t.TempDir(), "a")
		d := session.Folder{Path: filepath.Join(root, "b")}
		old := syscall.Umask(mask)
		for round := range 2 {
			log, err := d.Open(t.Context(), "s", session.Header{})
			if err == nil {
				err = log.Append(t.Context(), int64(round), true, ended(int64(round+1), strings.Repeat("x", 40<<10)))
			}
			if err != nil {
				syscall.Umask(old)
				t.Fatalf("umask %o, round %d: %v", mask, round, err)
			}
			_ = log.Close()
			modes(t, root)
			loosen(t, path(d))
			if err := grow(path(d, "journal.jsonl")); err != nil { // to be kept in a file of its own
				t.Fatal(err)
			}
		}
		syscall.Umask(old)
	}
}

func modes(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if got := info.Mode().Perm(); got != want && filepath.Base(filepath.Dir(name)) != "blobs" {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// loosen gives everyone all rights to the content of a folder.
func loosen(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(name, 0o777)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The folder that holds the sessions may be the user's own: it is not changed.
func TestExistingPathKeepsItsMode(t *testing.T) {
	d := session.Folder{Path: t.TempDir()}
	if err := os.Chmod(d.Path, 0o755); err != nil {
		t.Fatal(err)
	}
	open(t, d, "s")
	if info, err := os.Stat(d.Path); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode is now %v, %v", info.Mode(), err)
	}
}

// Links and pipes that someone has put into a session's folder lead nowhere.
func TestLinks(t *testing.T) {
	for _, name := range []string{"journal.jsonl", "journal.jsonl.torn", "blobs", "lock", "."} {
		t.Run(name, func(t *testing.T) {
			d := made(t, sessiontest.Prompts(1)...)
			target := filepath.Join(t.TempDir(), "target")
			switch name {
			case ".", "blobs":
				if err := os.Mkdir(target, 0o755); err != nil {
					t.Fatal(err)
				}
			default:
				put(t, target, "precious")
			}
			if err := grow(path(d, "journal.jsonl")); err != nil { // so that something is torn
				t.Fatal(err)
			}
			if err := os.RemoveAll(path(d, name)); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, path(d, name)); err != nil {
				t.Fatal(err)
			}
			log, err := d.Open(t.Context(), "s", session.Header{})
			if err == nil {
				err = log.Append(t.Context(), log.Last(), true, ended(log.Last()+1, strings.Repeat("x", 40<<10)))
				_ = log.Close()
			}
			if err == nil {
				t.Error("written through a link")
			}
			switch name {
			case ".", "blobs":
				if files, err := os.ReadDir(target); err != nil || len(files) > 0 {
					t.Errorf("%v appeared behind the link, %v", names(files), err)
				}
			default:
				if got := slurp(t, target); got != "precious" {
					t.Errorf("behind the link is now %q", got)
				}
			}
		})
	}
	d := made(t)
	if err := os.Remove(path(d, "journal.jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path(d, "journal.jsonl"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open(t.Context(), "s", session.Header{}); err == nil {
		t.Error("a pipe was opened as a journal")
	}
	if _, err := sum(d); err == nil {
		t.Error("a pipe was read as a journal")
	}
}

// A folder that may not be written to can be read, and says why it cannot be written.
func TestReadOnly(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	d := made(t, sessiontest.Prompts(2)...)
	for _, name := range []string{path(d), d.Path} {
		if err := os.Chmod(name, 0o500); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(name, 0o700)
	}
	if n, err := sum(d); n != 2 || err != nil {
		t.Errorf("%d facts, %v", n, err)
	}
	if _, err := d.Open(t.Context(), "t", session.Header{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a new session: %v", err)
	}
}
