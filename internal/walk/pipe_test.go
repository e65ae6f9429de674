//go:build unix

package walk

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe without a writer would hold the search up for ever.
func TestFolderPipe(t *testing.T) {
	dir := plant(t, map[string]string{"a": ""})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o666); err != nil {
		t.Skip("no pipes here:", err)
	}
	root := open(t, dir)
	at, err := OpenFolder(root)
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	if f, err := at.Open("pipe"); err == nil {
		f.Close()
		t.Error("a pipe was opened")
	}
	if got := names(list(t, Walk{Root: root, Links: true}).Files); len(got) != 1 {
		t.Errorf("listed: %q", got)
	}
}
