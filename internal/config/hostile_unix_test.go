//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestHostileFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		make func(t *testing.T, path string) error
		want string // "": it is as if it were not there
	}{
		{"huge", func(_ *testing.T, path string) error {
			return os.WriteFile(path, []byte(`{"model":"`+strings.Repeat("x", maxFile)+`"}`), 0o600)
		}, "more than 1048576 bytes"},
		{"sparse", func(_ *testing.T, path string) error {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(path, 1<<40)
		}, "more than 1048576 bytes"},
		{"device", func(_ *testing.T, path string) error { return os.Symlink("/dev/zero", path) }, "the path is not a regular file"},
		{"pipe", func(_ *testing.T, path string) error { return syscall.Mkfifo(path, 0o600) }, "the path is not a regular file"},
		{"folder", func(_ *testing.T, path string) error { return os.Mkdir(path, 0o700) }, "the path is not a regular file"},
		{"loop", func(_ *testing.T, path string) error { return os.Symlink(filepath.Base(path), path) }, "too many levels"},
		{"link to nothing", func(_ *testing.T, path string) error { return os.Symlink("nowhere", path) }, "no such file"},
		{"zeros", func(_ *testing.T, path string) error { return os.WriteFile(path, make([]byte, 100), 0o600) }, "not JSON"},
		{"emptied", func(_ *testing.T, path string) error { return os.WriteFile(path, nil, 0o600) }, "the file is empty"},
		{"open to all", func(_ *testing.T, path string) error {
			if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
				return err
			}
			return os.Chmod(path, 0o666)
		}, "every user can write to the file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, scope := range []Scope{User, Managed} {
				p := newPlace(t)
				path := p.path(scope)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := c.make(t, path); err != nil {
					t.Fatal(err)
				}
				if _, err := Load(p.Options); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v, want %q", scope, err, c.want)
				}
			}
		})
	}
	p := newPlace(t) // where the folder is a file there are no settings
	if err := os.WriteFile(p.Home, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.load()
}
