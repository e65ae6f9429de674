package tooloutput

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/internal/order"
	"github.com/openagent-go/agent/internal/plainfile"
)

// Quota is how many bytes the files in [Dir] may have together. The oldest go
// first; the newest always stays.
const Quota = 512 << 20

const (
	// keepOutput is how long the files of the default folder are kept.
	keepOutput = 7 * 24 * time.Hour
	// sweepEvery is the least time between two cleanings.
	sweepEvery = time.Hour
	// sweptName is the file whose time is that of the last cleaning, for all
	// processes.
	sweptName = ".swept"
)

// sweeping is set while this process cleans.
var sweeping atomic.Bool

// tidy starts cleaning the folder, if that was not done lately. The cleaning runs in the
// background, so the caller does not wait for it.
func tidy(dir string) {
	if !due(dir, time.Now()) || !sweeping.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer sweeping.Store(false)
		sweep(dir, time.Now(), Quota)
	}()
}

// due reports whether the folder should be cleaned now, and notes that it is.
func due(dir string, now time.Time) bool {
	mark := filepath.Join(dir, sweptName)
	info, err := os.Lstat(mark)
	if err == nil && info.Mode().IsRegular() && now.Sub(info.ModTime()).Abs() < sweepEvery {
		return false
	}
	f, err := plainfile.Append(mark)
	if err != nil {
		return false
	}
	f.Close()
	return os.Chtimes(mark, now, now) == nil
}

// sweep removes outputs, because nothing else does if the temporary folder survives a
// restart. Old ones go, then the oldest until the rest has at most quota bytes.
func sweep(dir string, now time.Time, quota int64) {
	files, total := outputs(dir)
	for i, f := range files {
		if now.Sub(f.ModTime()) <= keepOutput && (total <= quota || i == len(files)-1) {
			return
		}
		if os.Remove(filepath.Join(dir, f.Name())) == nil {
			total -= f.Size()
		}
	}
}

// outputs lists the outputs in a folder, the oldest first, and their bytes.
func outputs(dir string) (files []fs.FileInfo, total int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && e.Name() != sweptName {
			files = append(files, info)
			total += info.Size()
		}
	}
	older := func(i, j int) bool {
		a, b := files[i], files[j]
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name())) < 0
	}
	sort.Sort(order.By(len(files), older, func(i, j int) { files[i], files[j] = files[j], files[i] }))
	return files, total
}

// Kept returns how many outputs are in [Dir], and their bytes.
func Kept() (files int, bytes int64, err error) {
	dir, err := Dir()
	if err != nil {
		return 0, 0, err
	}
	all, bytes := outputs(dir)
	return len(all), bytes, nil
}
