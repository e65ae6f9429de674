package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var systemLock = regexp.MustCompile(`\b(Flock|FcntlFlock|LockFileEx|UnlockFileEx)\(`)

// Only internal/durable calls the system's file locks: five copies of them once differed in
// what they did about signals and on Windows.
func TestLocks(t *testing.T) {
	root := filepath.Join("..", "..")
	found := 0
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil || !systemLock.Match(text) {
			return err
		}
		if found++; filepath.Dir(file) != filepath.Join(root, "internal", "durable") {
			t.Errorf("%s locks a file by itself; use internal/durable", file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 2 {
		t.Errorf("%d files call the system's locks; internal/durable has two", found)
	}
}
