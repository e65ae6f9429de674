package checkpoint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/checkpoint"
)

// forest makes a tree of n files of some kilobytes in n/20 folders and those above and returns
// their paths.
func forest(tb testing.TB, root string, n int) (paths []string) {
	tb.Helper()
	for i := range n {
		dir := filepath.Join(root, fmt.Sprintf("a%d", i/2000), fmt.Sprintf("b%d", i/200), fmt.Sprintf("c%d", i/20))
		if i%20 == 0 {
			must(tb, os.MkdirAll(dir, 0o755))
		}
		path := filepath.Join(dir, fmt.Sprintf("file%d.go", i))
		must(tb, os.WriteFile(path, []byte(strings.Repeat(fmt.Sprintf("line %d\n", i), 200)), 0o644))
		paths = append(paths, path)
	}
	return paths
}

// 10,000 files of which 10 have changed since the last checkpoint.
func BenchmarkTake(b *testing.B) {
	root := b.TempDir()
	s := newStore(b)
	s.Quota = 10 << 30
	paths := forest(b, root, 10_000)
	settle(b)
	take(b, s, root)
	take(b, s, root)
	var n int
	for b.Loop() {
		b.StopTimer()
		for i := range 10 {
			n++
			must(b, os.WriteFile(paths[(i*997+n)%len(paths)], fmt.Appendf(nil, "changed %d\n", n), 0o644))
		}
		b.StartTimer()
		take(b, s, root)
	}
}

// The first checkpoint of 10,000 files reads all of them.
func BenchmarkTakeFirst(b *testing.B) {
	root := b.TempDir()
	forest(b, root, 10_000)
	for b.Loop() {
		b.StopTimer()
		s := newStore(b)
		b.StartTimer()
		take(b, s, root)
	}
}

// 10 of 10,000 files are brought back.
func BenchmarkRestore(b *testing.B) {
	root := b.TempDir()
	s := newStore(b)
	s.Quota = 10 << 30
	paths := forest(b, root, 10_000)
	settle(b)
	c := take(b, s, root)
	var n int
	for b.Loop() {
		b.StopTimer()
		for i := range 10 {
			n++
			must(b, os.WriteFile(paths[(i*997+n)%len(paths)], fmt.Appendf(nil, "changed %d\n", n), 0o644))
		}
		b.StartTimer()
		if _, err := s.Restore(b.Context(), session, c.ID, checkpoint.Restoring{}); err != nil {
			b.Fatal(err)
		}
	}
}
