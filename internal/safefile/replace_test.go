package safefile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// steps is a disk that lists its steps and fails at one of them.
type steps struct {
	System
	done []string
	fail string
}

var errStep = errors.New("a step that fails")

// stepsIn returns a folder on a disk that fails at a step.
func stepsIn(t *testing.T, fail string) (string, *steps) {
	disk := &steps{fail: fail}
	dir := t.TempDir()
	t.Cleanup(Mount(dir, disk))
	return dir, disk
}

func (s *steps) step(name string) error {
	s.done = append(s.done, name)
	if name == s.fail {
		return errStep
	}
	return nil
}

func (s *steps) Open(name string, flag int, mode fs.FileMode) (File, error) {
	if err := s.step("create"); err != nil {
		return nil, err
	}
	f, err := s.System.Open(name, flag, mode)
	return stepFile{f, s}, err
}

func (s *steps) Rename(from, to string) error {
	if err := s.step("rename"); err != nil {
		return err
	}
	return s.System.Rename(from, to)
}

func (s *steps) SyncFolder(name string) error { return s.step("sync folder") }

type stepFile struct {
	File
	disk *steps
}

func (f stepFile) Write(p []byte) (int, error) {
	if err := f.disk.step("write"); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f stepFile) Sync() error { return f.disk.step("sync") }

func (f stepFile) Close() error { return errors.Join(f.disk.step("close"), f.File.Close()) }

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A replacement takes its steps in order. Each one that fails before the rename leaves
// the old file and nothing else.
func TestReplaceSteps(t *testing.T) {
	all := []string{"create", "write", "sync", "close", "ready", "rename", "sync folder"}
	for _, fail := range append(all, "") {
		dir, disk := stepsIn(t, fail)
		name := filepath.Join(dir, "file")
		if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		err := Replacement{Ready: func() error { return disk.step("ready") }}.Bytes(name, []byte("new"))
		want, failed := "new", fail != ""
		if failed && fail != "sync folder" {
			want = "old"
		}
		if errors.Is(err, errStep) != failed || !failed && err != nil || read(t, name) != want {
			t.Errorf("%q failing: %v, %q", fail, err, read(t, name))
		}
		if !failed && !slices.Equal(disk.done, all) || want == "old" && slices.Contains(disk.done, "sync folder") {
			t.Errorf("%q failing: %q", fail, disk.done)
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 1 {
			t.Errorf("%q failing leaves %v", fail, entries)
		}
	}
}

func TestReplaceSync(t *testing.T) {
	for sync, want := range map[Sync][]string{
		SyncContent: {"create", "write", "sync", "close", "rename"},
		SyncNone:    {"create", "write", "close", "rename"},
	} {
		dir, disk := stepsIn(t, "")
		name := filepath.Join(dir, "file")
		if err := (Replacement{Sync: sync}).Bytes(name, []byte("new")); err != nil || !slices.Equal(disk.done, want) {
			t.Errorf("%v: %v, %q", sync, err, disk.done)
		}
	}
}

// A name for the temporary file takes over the remains of a crash.
func TestReplaceTemp(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name+".tmp", []byte("left by a crash, longer"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (Replacement{Temp: "file.tmp"}).Bytes(name, []byte("new")); err != nil || read(t, name) != "new" {
		t.Errorf("%v, %q", err, read(t, name))
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%v", entries)
	}
}

// An error of the writer keeps the old file.
func TestReplaceWriter(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	err := Replacement{}.Stream(name, func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, errStep)
	})
	entries, _ := os.ReadDir(dir)
	if !errors.Is(err, errStep) || len(entries) != 0 {
		t.Errorf("%v, %v", err, entries)
	}
}

func TestSyncFolder(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := errors.Join(SyncFolder(dir), SyncFolderIn(root, ".")); err != nil {
		t.Error(err)
	}
}
