package chat

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A note is an item of a list, and the rest of the file stays as it is.
func TestAppendNote(t *testing.T) {
	t.Parallel()
	for before, want := range map[string]string{
		"":               "- be kind\n",
		"# Rules\n":      "# Rules\n\n- be kind\n",
		"# Rules":        "# Rules\n\n- be kind\n",
		"# Rules\n\n- a": "# Rules\n\n- a\n\n- be kind\n",
		"- a\n- b\n":     "- a\n- b\n- be kind\n",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "AGENTS.md")
		if before != "" {
			if err := os.WriteFile(path, []byte(before), 0o640); err != nil {
				t.Fatal(err)
			}
		}
		if err := appendNote(dir, "AGENTS.md", "be kind", false); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%q became %q, want %q; %v", before, got, want, err)
		}
		if info, err := os.Stat(path); err != nil || before == "" && info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info, err)
		}
	}
}

// A link of a project leads a note nowhere else, and a pipe holds nothing up.
func TestAppendNoteToLinks(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "profile")
	if err := errors.Join(os.WriteFile(elsewhere, []byte("x\n"), 0o600), os.Symlink(elsewhere, filepath.Join(dir, "AGENTS.md")),
		os.WriteFile(filepath.Join(dir, "real.md"), []byte("- a\n"), 0o600), os.Symlink("real.md", filepath.Join(dir, "inner.md")), os.Mkdir(filepath.Join(dir, "folder.md"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"AGENTS.md", "folder.md"} {
		if err := appendNote(dir, name, "be kind", true); err == nil {
			t.Errorf("a note went to %s", name)
		}
	}
	if err := appendNote(dir, "inner.md", "be kind", true); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]string{elsewhere: "x\n", filepath.Join(dir, "real.md"): "- a\n- be kind\n"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v", path, got, err)
		}
	}
}

// Git ignores the local file: one line says so, however many notes there are.
func TestHidden(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	below := filepath.Join(top, "a", "b")
	if err := errors.Join(os.MkdirAll(below, 0o755), os.Mkdir(filepath.Join(top, ".git"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := hidden(below); got != ", which git ignores" {
			t.Errorf("%q", got)
		}
	}
	if got, err := os.ReadFile(filepath.Join(top, ".git", "info", "exclude")); err != nil || string(got) != "CLAUDE.local.md\n" {
		t.Errorf("%q %v", got, err)
	}
	worktree := t.TempDir()
	if err := os.WriteFile(filepath.Join(worktree, ".git"), []byte("gitdir: "+top+"/.git\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := hidden(worktree); got != "; add that name to .gitignore to keep it out of git" {
		t.Errorf("%q", got)
	}
}
