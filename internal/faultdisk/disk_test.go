package faultdisk_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/openagent-go/agent/internal/faultdisk"
	"github.com/openagent-go/agent/internal/safefile"
)

func start(t *testing.T, d *faultdisk.Disk) *faultdisk.Program {
	t.Helper()
	p := d.Start()
	t.Cleanup(p.Leave)
	return p
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// write appends to a file, which it makes if need be.
func write(t *testing.T, name, text string) safefile.File {
	t.Helper()
	f, err := safefile.Open(name, os.O_RDWR|os.O_APPEND|os.O_CREATE)
	must(t, err)
	_, err = f.Write([]byte(text))
	must(t, err)
	return f
}

func read(t *testing.T, name string) string {
	t.Helper()
	f, err := safefile.Open(name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return "none"
	}
	must(t, err)
	data, err := io.ReadAll(f)
	must(t, err, f.Close())
	return string(data)
}

// What was synced is never lost, and of the rest anything may be: each outcome is met.
func TestPowerLoss(t *testing.T) {
	synced, more := strings.Repeat("s", 700), strings.Repeat("m", 2000)
	met := map[string]bool{}
	for seed := range uint64(300) {
		d := faultdisk.New(seed)
		p := start(t, d)
		f := write(t, p.Path("file"), synced)
		must(t, f.Sync(), safefile.SyncFolder(p.Folder()))
		_, err := f.Write([]byte(more))
		must(t, err, write(t, p.Path("new"), "new").Sync())
		d.PowerLoss()
		p = start(t, d)
		got := read(t, p.Path("file"))
		rest, ok := strings.CutPrefix(got, synced)
		if !ok {
			t.Fatalf("seed %d: synced bytes are lost: %q", seed, got)
		}
		for i, c := range []byte(rest) {
			if c != 'm' && c != 0 {
				t.Fatalf("seed %d: byte %d is %q", seed, i, c)
			}
		}
		holes := strings.Contains(strings.TrimRight(rest, "\x00"), "\x00")
		zeros := strings.HasSuffix(rest, "\x00")
		met[fmt.Sprint("none ", rest == "")] = true
		met[fmt.Sprint("all ", rest == more)] = true
		met[fmt.Sprint("holes ", holes)] = true
		met[fmt.Sprint("zeros ", zeros)] = true
		met[fmt.Sprint("cut ", rest != "" && len(rest) < len(more))] = true
		met["new "+read(t, p.Path("new"))] = true
	}
	if len(met) != 12 {
		t.Errorf("only met %v", met)
	}
}

// A disk that keeps the order of writes has no holes.
func TestOrdered(t *testing.T) {
	for seed := range uint64(200) {
		d := faultdisk.New(seed)
		d.Ordered = true
		p := start(t, d)
		f := write(t, p.Path("file"), "")
		must(t, safefile.SyncFolder(p.Folder()))
		for range 5 {
			_, err := f.Write(bytes.Repeat([]byte{'x'}, 700))
			must(t, err)
		}
		d.PowerLoss()
		if got := strings.TrimRight(read(t, start(t, d).Path("file")), "\x00"); strings.Contains(got, "\x00") {
			t.Fatalf("seed %d has a hole: %q", seed, got)
		}
	}
}

// A replacement that returned is there after a power loss; one that was cut off left the old
// file or the new one. A name that leads to a file in another folder is moved as a whole.
func TestReplacement(t *testing.T) {
	old, now := strings.Repeat("o", 3000), strings.Repeat("n", 3000)
	for seed := range uint64(200) {
		d := faultdisk.New(seed)
		p := start(t, d)
		name, moved := p.Path("file"), p.Path("moved")
		must(t, safefile.Replacement{}.Bytes(name, []byte(old)), safefile.Replacement{}.Bytes(moved, []byte(old)))
		must(t, safefile.Mkdir(p.Path("to"), 0o700), safefile.SyncFolder(p.Folder()))
		must(t, safefile.Rename(moved, p.Path("to", "moved")))
		p.KillAt(1 + int(seed%7))
		err := safefile.Replacement{}.Bytes(name, []byte(now))
		if err != nil && !errors.Is(err, faultdisk.ErrDead) {
			t.Fatal(err)
		}
		d.PowerLoss()
		p = start(t, d)
		if got := read(t, p.Path("file")); got != now && (got != old || err == nil) {
			t.Fatalf("seed %d: %v, %q", seed, err, got)
		}
		from, to := read(t, p.Path("moved")), read(t, p.Path("to", "moved"))
		if (from == old) == (to == old) {
			t.Fatalf("seed %d: %.10q and %.10q", seed, from, to)
		}
	}
}

// A killed program has changed what it was told, nothing afterwards, and holds no lock.
func TestKill(t *testing.T) {
	for seed := range uint64(50) {
		d := faultdisk.New(seed)
		p, other := start(t, d), start(t, d)
		lock := write(t, p.Path("lock"), "")
		theirs := write(t, other.Path("lock"), "")
		if got, err := safefile.TryLock(lock, safefile.Exclusive); !got || err != nil {
			t.Fatal(got, err)
		}
		if got, err := safefile.TryLock(theirs, safefile.Shared); got || err != nil {
			t.Fatal(got, err)
		}
		p.KillAt(4)
		f := write(t, p.Path("file"), "one")
		_, err := f.Write([]byte("two"))
		must(t, err)
		if _, err := f.Write([]byte("three")); !errors.Is(err, faultdisk.ErrDead) {
			t.Fatal(err)
		}
		select {
		case <-p.Died():
		default:
			t.Fatal("it lives")
		}
		if _, err := safefile.Lstat(p.Path("file")); !errors.Is(err, faultdisk.ErrDead) {
			t.Fatal(err)
		}
		if got := read(t, other.Path("file")); !strings.HasPrefix("onetwothree", got) || !strings.HasPrefix(got, "onetwo") {
			t.Fatalf("%q", got)
		}
		if got, err := safefile.TryLock(theirs, safefile.Exclusive); !got || err != nil || other.Locks() != 1 {
			t.Fatal(got, err)
		}
		must(t, safefile.Unlock(theirs))
		if other.Locks() != 0 {
			t.Fatal("it is locked")
		}
	}
}

// A full disk takes a part of a write. A sync that fails makes the system forget what was
// written, and the next one does not bring it back.
func TestFaults(t *testing.T) {
	d := faultdisk.New(1)
	d.Limit = 20_000
	p := start(t, d)
	f := write(t, p.Path("file"), "")
	n, err := f.Write(make([]byte, 50_000))
	if info, _ := f.Stat(); !errors.Is(err, syscall.ENOSPC) || n == 0 || n >= 20_000 || info.Size() != int64(n) {
		t.Errorf("%d bytes were written, %v", n, err)
	}
	if err := safefile.Mkdir(p.Path("folder"), 0o700); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	d.Limit = 0
	lost := 0
	for seed := range uint64(100) {
		d := faultdisk.New(seed)
		p := start(t, d)
		f := write(t, p.Path("file"), "kept")
		must(t, f.Sync(), safefile.SyncFolder(p.Folder()))
		_, err := f.Write([]byte("lost"))
		must(t, err)
		d.Ask, _ = faultdisk.At(1, false, syscall.EIO, faultdisk.Sync)
		if err := f.Sync(); !errors.Is(err, syscall.EIO) {
			t.Fatal(err)
		}
		must(t, f.Sync())
		if got := read(t, p.Path("file")); got != "keptlost" {
			t.Fatalf("the program sees %q", got)
		}
		d.PowerLoss()
		if got := read(t, start(t, d).Path("file")); got != "keptlost" {
			lost++
		}
	}
	if lost == 0 {
		t.Error("the second sync has brought the bytes back")
	}
}

// program does random operations, and returns what there is to see of them.
func program(seed uint64) string {
	d := faultdisk.New(seed)
	defer d.Leave()
	r := rand.New(rand.NewPCG(seed, 2))
	var log strings.Builder
	for range 3 {
		p := d.Start()
		p.KillAt(1 + r.IntN(60))
		for range 80 {
			a, b := p.Path(fmt.Sprint("f", r.IntN(4))), p.Path(fmt.Sprint("f", r.IntN(4)))
			var err error
			switch r.IntN(7) {
			case 0, 1, 2:
				var f safefile.File
				if f, err = safefile.Open(a, os.O_RDWR|os.O_APPEND|os.O_CREATE); err == nil {
					_, err = f.Write(make([]byte, r.IntN(2000)))
					if r.IntN(2) == 0 {
						err = errors.Join(err, f.Sync())
					}
					_ = f.Close()
				}
			case 3:
				err = safefile.Rename(a, b)
			case 4:
				err = safefile.Link(a, b)
			case 5:
				err = safefile.Remove(a)
			case 6:
				err = safefile.SyncFolder(p.Folder())
			}
			fmt.Fprintln(&log, err != nil, errors.Is(err, faultdisk.ErrDead))
		}
		d.PowerLoss()
		log.WriteString(d.Dump())
	}
	return log.String()
}

// A seed is a run.
func TestSeed(t *testing.T) {
	for seed := range uint64(30) {
		if a, b := program(seed), program(seed); a != b {
			t.Fatalf("seed %d gives\n%s\nand\n%s", seed, a, b)
		}
	}
}

// A mounted disk behaves like the file system of the machine.
func TestLikeSystem(t *testing.T) {
	p := start(t, faultdisk.New(1))
	dirs := []string{t.TempDir(), p.Path("dir")}
	must(t, safefile.MkdirAll(dirs[1], 0o700))
	r := rand.New(rand.NewPCG(1, 1))
	names := []string{"a", "b", "d", "d/a", "d/b", "d/e", "d/e/a"}
	for range 3000 {
		a, b, what, size, flag := names[r.IntN(len(names))], names[r.IntN(len(names))], r.IntN(10), r.IntN(30), r.IntN(3)
		var seen [2]string
		for i, dir := range dirs {
			a, b := filepath.Join(dir, a), filepath.Join(dir, b)
			var err error
			switch what {
			case 0, 1, 2:
				var f safefile.File
				f, err = safefile.Open(a, []int{os.O_RDWR, os.O_RDWR | os.O_CREATE, os.O_WRONLY | os.O_CREATE | os.O_EXCL}[flag])
				if err == nil {
					_, err = f.WriteAt([]byte(strings.Repeat("x", size)), int64(size))
					must(t, f.Truncate(int64(size)+3))
					_, more := f.Write([]byte("w"))
					info, _ := f.Stat()
					seen[i] += fmt.Sprint(more, info.Size(), info.Mode())
					must(t, f.Close())
				}
			case 3:
				err = safefile.Mkdir(a, 0o700)
			case 4:
				err = safefile.Remove(a)
			case 5:
				err = safefile.RemoveAll(a)
			case 6:
				if a != b {
					err = safefile.Rename(a, b)
				}
			case 7:
				err = safefile.Link(a, b)
			case 8:
				var list []fs.DirEntry
				list, err = safefile.ReadDir(a)
				for _, e := range list {
					seen[i] += fmt.Sprint(e.Name(), e.IsDir(), " ")
				}
			case 9:
				var x, y fs.FileInfo
				if x, err = safefile.Lstat(a); err == nil {
					if y, err = safefile.Lstat(b); err == nil {
						seen[i] += fmt.Sprint(safefile.SameFile(x, y), x.IsDir())
					}
				}
			}
			for _, is := range []error{fs.ErrExist, fs.ErrNotExist} {
				seen[i] += fmt.Sprint(" ", errors.Is(err, is))
			}
			seen[i] += fmt.Sprint(" ", err == nil)
		}
		if seen[0] != seen[1] {
			t.Fatalf("operation %d on %s and %s: %q, want %q", what, a, b, seen[1], seen[0])
		}
	}
}

// A file whose closing fails is closed all the same.
func TestCloseFails(t *testing.T) {
	d := faultdisk.New(1)
	p := start(t, d)
	f := write(t, p.Path("file"), "x")
	if got, err := safefile.TryLock(f, safefile.Exclusive); !got || err != nil {
		t.Fatal(got, err)
	}
	d.Ask, _ = faultdisk.At(1, true, syscall.EIO, faultdisk.Close, faultdisk.Unlock)
	if err := f.Close(); !errors.Is(err, syscall.EIO) || len(p.Files()) > 0 || p.Locks() > 0 {
		t.Error(err, p.Files(), p.Locks())
	}
}
