package session

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/safefile"
)

// counting is a disk that counts the bytes that are read.
type counting struct {
	quick
	read *int64
}

func (d counting) Open(name string, flag int, mode fs.FileMode) (safefile.File, error) {
	f, err := d.quick.Open(name, flag, mode)
	if err != nil {
		return nil, err
	}
	return countingFile{f.(quickFile), d.read}, nil
}

type countingFile struct {
	quickFile
	read *int64
}

func (f countingFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.quickFile.ReadAt(p, off)
	*f.read += int64(n)
	return n, err
}

// Lists and the last messages of a very long session cost as much as those of a
// short one.
func TestLongSession(t *testing.T) {
	const n = 100_000
	d := folderStore{Path: quickly(t, t.TempDir())}
	log, err := d.Open(t.Context(), "s", Header{})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Append(t.Context(), 0, false, event.Event{Seq: 1, Data: event.SessionNamed{Title: "title"}}); err != nil {
		t.Fatal(err)
	}
	for seq := int64(1); seq < n; {
		var batch []event.Event
		for len(batch) < 1000 && seq+int64(len(batch)) < n {
			batch = append(batch, say(seq+int64(len(batch))+1, "prompt"))
		}
		if err := log.Append(t.Context(), seq, false, batch...); err != nil {
			t.Fatal(err)
		}
		seq = log.Last()
	}
	read := int64(0)
	safefile.Mount(d.Path, counting{read: &read})
	look := func(when string) {
		t.Helper()
		read = 0
		list, err := d.List(t.Context())
		if err != nil || len(list) != 1 || list[0].Facts != n || list[0].Title != "title" || list[0].Messages != n-1 {
			t.Errorf("%s: %+v, %v", when, list, err)
		}
		if read > 2*summaryEvery { // facts that an open log may not have reported yet, and a window
			t.Errorf("%s: a list has read %d bytes", when, read)
		}
	}
	look("while it is open")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	look("when it is closed")
	if read > 4<<10 {
		t.Errorf("a list has read %d bytes of a closed session", read)
	}
	read = 0
	last, err := Load(t.Context(), d, "s", 50, -1)
	if err != nil || len(last) != 50 || last[49].Seq != n {
		t.Errorf("%d messages, %v", len(last), err)
	}
	if read > 256<<10 {
		t.Errorf("the last 50 messages cost %d bytes", read)
	}
}

// The file for lists says nothing that the journal does not say, whatever is done
// to it.
func TestAboutIsOnlyACache(t *testing.T) {
	d, _ := small(t, 5)
	want, err := d.Stat(t.Context(), "s")
	if err != nil || want.Messages != 5 {
		t.Fatalf("%+v, %v", want, err)
	}
	name := filepath.Join(d.Path, "s", summaryName)
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lie := []byte(strings.TrimSuffix(Seal(`{"openagent":1,"session":"other","created":"2026-01-02T03:04:05Z","updated":"2026-01-02T03:04:05Z","messages":99,"facts":99,"size":10`), "\n"))
	for what, data := range map[string][]byte{
		"missing": nil, "empty": {}, "cut": good[:len(good)/2], "altered": bytes.Replace(good, []byte("5"), []byte("6"), 1), "another's": lie,
		"ahead": bytes.Replace(lie, []byte("other"), []byte("s"), 1), "huge": bytes.Repeat([]byte("x"), 1<<20),
	} {
		_ = os.Remove(name)
		if data != nil {
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := d.Stat(t.Context(), "s"); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", what, got, err, want)
		}
		log, err := d.Open(t.Context(), "s", Header{})
		if err != nil {
			t.Fatal(err)
		}
		_ = log.Close()
		if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, good) {
			t.Errorf("%s: opening the session does not correct the file: %v", what, err)
		}
	}
}

// Acknowledged facts survive a power cut that takes any pages which were not synced:
// opening the session is enough, or repairing it.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	const sector = 64 // small, so that there are many
	opened, repaired := 0, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		d, _ := small(t, 3)
		log, err := d.Open(t.Context(), "s", Header{})
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(d.Path, "s", journalName)
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		synced := int(info.Size())
		for seq := int64(4); seq < 10; seq++ {
			if err := log.Append(t.Context(), seq-1, false, say(seq, "not synced")); err != nil {
				t.Fatal(err)
			}
		}
		_ = log.Close()
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := facts(d)
		if err != nil {
			t.Fatal(err)
		}
		data = data[:synced+r.IntN(len(data)-synced+1)]
		for at := synced; at < len(data); at += sector {
			if r.IntN(3) == 0 {
				clear(data[at:min(at+sector, len(data))])
			}
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		log, err = d.Open(t.Context(), "s", Header{})
		if errors.Is(err, ErrCorrupt) {
			repaired++
			if _, err := Repair(t.Context(), d, "s"); err != nil {
				t.Fatal(err)
			}
			log, err = d.Open(t.Context(), "s", Header{})
		} else {
			opened++
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		_ = log.Close()
		got, err := facts(d)
		if err != nil || len(got) < 3 || !reflect.DeepEqual(got[:3], want[:3]) {
			t.Fatalf("seed %d: %d facts are left, %v", seed, len(got), err)
		}
	}
	if opened == 0 || repaired == 0 {
		t.Errorf("%d sessions were opened, %d repaired: both should happen", opened, repaired)
	}
}

func TestBranch(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("a/.git/HEAD", "ref: refs/heads/feature/x\n")
	write("a/b/c/file", "")
	write("a/.git/worktrees/w/HEAD", "ref: refs/heads/other\n")
	write("w/.git", "gitdir: ../a/.git/worktrees/w\n")
	write("detached/.git/HEAD", "0123456789abcdef0123456789abcdef01234567\n")
	write("odd/.git", "nonsense")
	for dir, want := range map[string]string{"a": "feature/x", "a/b/c": "feature/x", "w": "other", "detached": "", "odd": "", "none": ""} {
		if got := branchAt(filepath.Join(root, dir)); got != want {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}

// A session too damaged to be listed still has its id.
func TestIDs(t *testing.T) {
	d, data := small(t, 1)
	if err := os.WriteFile(filepath.Join(d.Path, "s", journalName), append([]byte("x"), data...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(d.Path, "empty"), fs.FileMode(0o700)); err != nil {
		t.Fatal(err)
	}
	if ids, err := d.IDs(t.Context()); err != nil || len(ids) != 1 || ids[0] != "s" {
		t.Errorf("ids are %q, %v", ids, err)
	}
}

// A new session says which branch it began on; a fork what its origin said.
func TestBranchOfNewSession(t *testing.T) {
	tree := t.TempDir()
	write := func(head string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(tree, ".git"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tree, ".git", "HEAD"), []byte(head), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("ref: refs/heads/topic\n")
	d := folderStore{Path: t.TempDir()}
	log, err := d.Open(t.Context(), "a", Header{Dir: tree})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	write("ref: refs/heads/other\n")
	info, err := d.Stat(t.Context(), "a")
	if err != nil || info.Branch != "topic" {
		t.Errorf("%+v %v", info, err)
	}
}
