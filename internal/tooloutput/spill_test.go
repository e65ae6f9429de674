package tooloutput

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent/tool"
)

// aged makes a file of some bytes that was written some time ago.
func aged(t *testing.T, dir, name string, size int, age time.Duration) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, time.Time{}, time.Now().Add(-age)); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestSweep(t *testing.T) {
	for _, c := range []struct {
		quota int64
		want  string
	}{
		{1000, "a b c folder"}, {60, "a b c folder"}, {59, "a b folder"}, {30, "a b folder"}, {29, "a folder"}, {0, "a folder"},
	} {
		dir := t.TempDir()
		aged(t, dir, "old", 10, keepOutput+time.Hour)
		aged(t, dir, "c", 30, 3*time.Hour)
		aged(t, dir, "b", 20, 2*time.Hour)
		aged(t, dir, "a", 10, time.Hour)
		if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
			t.Fatal(err)
		}
		sweep(dir, time.Now(), c.quota)
		if got := names(t, dir); got != c.want {
			t.Errorf("quota %d: %s, want %s", c.quota, got, c.want)
		}
	}
	dir := t.TempDir()
	aged(t, dir, "old", 10, keepOutput+time.Hour)
	sweep(dir, time.Now(), 1000)
	if got := names(t, dir); got != "" {
		t.Errorf("an old file that is the only one stays: %s", got)
	}
	sweep(filepath.Join(dir, "none"), time.Now(), 1000)
}

func TestSweepIsDueOnceAnHour(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	for _, c := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {time.Minute, false}, {59 * time.Minute, false}, {61 * time.Minute, true}, {62 * time.Minute, false}, {-time.Hour, true}} {
		if got := due(dir, now.Add(c.after)); got != c.want {
			t.Errorf("after %v: %v", c.after, got)
		}
	}
	if due(filepath.Join(dir, "none"), now) {
		t.Error("due where there is no folder")
	}
}

// Keeping an output has old ones removed, from many goroutines as well.
func TestOldOutputsAreRemoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the temporary folder of Windows cannot be set here")
	}
	t.Setenv("TMPDIR", t.TempDir())
	dir, err := Dir()
	if err != nil {
		t.Fatal(err)
	}
	aged(t, dir, "old", 10, keepOutput+time.Hour)
	aged(t, dir, "new", 10, time.Hour)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if _, err := Limit(tool.Output{Lines: 1}, tool.Call{ID: fmt.Sprint(i)}, tool.Text("1\n2\n3\n")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for sweeping.Load() {
		runtime.Gosched()
	}
	if files, bytes, err := Kept(); err != nil || files != 9 || bytes != 10+8*6 {
		t.Errorf("%d files, %d bytes, %v: %s", files, bytes, err, names(t, dir))
	}
	if _, err := os.Stat(filepath.Join(dir, "old")); err == nil {
		t.Error("the old file is there")
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err != nil {
		t.Error("the new file is gone")
	}
}
