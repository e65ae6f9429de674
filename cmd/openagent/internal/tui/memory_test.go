package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestHistory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "project")
	m := NewMemory(dir)
	if entries, draft := m.Load(); len(entries) > 0 || draft != "" {
		t.Errorf("a new folder holds %q and %q", entries, draft)
	}
	for _, text := range []string{"one", "two\nlines \x00 \u2028", "three"} {
		if err := m.Remember(text); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, historyName)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`"cut by a cra`)
	f.Close()
	entries, _ := NewMemory(dir).Load()
	if want := []string{"one", "two\nlines \x00 \u2028", "three"}; !slices.Equal(entries, want) {
		t.Errorf("%q, want %q", entries, want)
	}
	for name, want := range map[string]os.FileMode{dir: 0o700, path: 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
}

// The history does not grow without a limit.
func TestHistoryIsBounded(t *testing.T) {
	for name, size := range map[string]int{"many": 10, "long": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			m := NewMemory(dir)
			n := 2*maxEntries + 10
			if size > 1000 {
				n = 20
			}
			for i := range n {
				if err := m.Remember(fmt.Sprint(i, strings.Repeat("x", size))); err != nil {
					t.Fatal(err)
				}
			}
			info, err := os.Stat(filepath.Join(dir, historyName))
			if err != nil || info.Size() > 2*maxKept || m.lines > 2*maxEntries {
				t.Errorf("%v: %d bytes, %d lines", err, info.Size(), m.lines)
			}
			entries, _ := NewMemory(dir).Load()
			if len(entries) == 0 || len(entries) > maxEntries || !strings.HasPrefix(entries[len(entries)-1], fmt.Sprint(n-1)) {
				t.Errorf("%d entries", len(entries))
			}
		})
	}
}

// A program that ends, or dies, leaves its draft to the next one. A program that lives does
// not.
func TestDraft(t *testing.T) {
	dir := t.TempDir()
	a, b := NewMemory(dir), NewMemory(dir)
	for _, text := range []string{"a dra", "a draft"} {
		if err := a.SaveDraft(text); err != nil {
			t.Fatal(err)
		}
	}
	if _, draft := b.Load(); draft != "" {
		t.Errorf("the draft of a program that lives is offered: %q", draft)
	}
	if err := b.SaveDraft("another"); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil { // as the system does when a program dies
		t.Fatal(err)
	}
	c := NewMemory(dir)
	if _, draft := c.Load(); draft != "a draft" {
		t.Errorf("the draft is %q", draft)
	}
	if err := c.Close(); err != nil { // it was not sent
		t.Fatal(err)
	}
	d := NewMemory(dir)
	if _, draft := d.Load(); draft != "a draft" {
		t.Errorf("the draft is %q after another start", draft)
	}
	for _, m := range []*Memory{b, d} {
		if err := m.SaveDraft(""); err != nil {
			t.Fatal(err)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "draft-*")); len(files) > 0 {
		t.Errorf("%q are left", files)
	}
	if _, draft := NewMemory(dir).Load(); draft != "" {
		t.Errorf("a draft that was sent is offered: %q", draft)
	}
}
