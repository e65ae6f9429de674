package checkpoint_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/checkpoint"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// A restore can be undone, names what it left, and is not begun where its undoing cannot be
// recorded.
func TestRestore(t *testing.T) {
	ctx := t.Context()
	project := t.TempDir()
	if real, err := filepath.EvalSymlinks(project); err == nil {
		project = real
	}
	small, large := filepath.Join(project, "sub", "small"), filepath.Join(project, "large")
	write(t, small, "old")
	write(t, large, strings.Repeat("x", 200))
	s := &checkpoint.Store{Dir: filepath.Join(t.TempDir(), "store"), MaxFile: 100}
	id, err := s.Take(ctx, "s", 7, project)
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.List(ctx, "s")
	if err != nil || len(list) != 1 || list[0].ID != id || list[0].Seq != 7 || list[0].Time.IsZero() {
		t.Fatalf("%+v, %v", list, err)
	}
	write(t, small, "new")

	failed := errors.New("the record is full")
	if _, err := s.Restore(ctx, "s", id, func(string) error { return failed }); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	would, err := s.Changes(ctx, "s", "", id)
	if err != nil || len(would) != 1 || would[0].Path != small || would[0].Kind != "changed" || !strings.Contains(would[0].Diff, "+old") {
		t.Fatalf("%+v, %v", would, err)
	}
	undo := ""
	report, err := s.Restore(ctx, "s", id, func(id string) error { undo = id; return nil })
	if err != nil || len(report.Changes) != 1 || report.Changes[0].Path != small {
		t.Fatalf("%+v, %v", report, err)
	}
	var left *fs.PathError
	if len(report.Left) != 1 || !errors.As(report.Left[0], &left) || left.Path != large {
		t.Errorf("left: %v", report.Left)
	}
	if text, err := os.ReadFile(small); string(text) != "old" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := s.Restore(ctx, "s", undo, nil); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(small); string(text) != "new" {
		t.Errorf("%q, %v", text, err)
	}
}

// A fork has its checkpoints until they are dropped.
func TestFork(t *testing.T) {
	ctx := t.Context()
	project := t.TempDir()
	write(t, filepath.Join(project, "a"), "a")
	s := &checkpoint.Store{Dir: filepath.Join(t.TempDir(), "store")}
	id, err := s.Take(ctx, "s", 1, project)
	if err == nil {
		err = s.Fork(ctx, "s", "copy", 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Changes(ctx, "copy", id, ""); err != nil {
		t.Error(err)
	}
	if err := s.Drop(ctx, "copy"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Changes(ctx, "copy", id, ""); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Error(err)
	}
}

// Verify names each damaged file.
func TestVerify(t *testing.T) {
	ctx := t.Context()
	project, dir := t.TempDir(), filepath.Join(t.TempDir(), "store")
	write(t, filepath.Join(project, "a"), "text")
	s := &checkpoint.Store{Dir: dir}
	if _, err := s.Take(ctx, "s", 1, project); err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(ctx); err != nil {
		t.Fatal(err)
	}
	damaged := ""
	err := filepath.WalkDir(filepath.Join(dir, "contents"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			damaged = path
			err = errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte("x"), 0o600))
		}
		return err
	})
	if err != nil || damaged == "" {
		t.Fatal(damaged, err)
	}
	if err := s.Verify(ctx); err == nil || !strings.Contains(err.Error(), damaged) {
		t.Errorf("%v, want one about %s", err, damaged)
	}
}
