package session

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/faultdisk"
	"github.com/openagent-go/agent/internal/safefile"
)

// watched mounts a quick disk that asks before each write and sync of a journal.
func watched(t *testing.T, ask func(faultdisk.Kind) error) folderStore {
	path := quickly(t, t.TempDir())
	safefile.Mount(path, faultdisk.Faulty{Disk: quick{}, Ask: func(op faultdisk.Op) error {
		if filepath.Base(op.Path) == journalName && (op.Kind == faultdisk.Write || op.Kind == faultdisk.Sync) {
			return ask(op.Kind)
		}
		return nil
	}})
	return folderStore{Path: path}
}

// A fact that must be on disk is synced after it is written and before it is acknowledged. Who
// opens a journal syncs what the last writer has left, because new facts build on it.
func TestSyncBeforeAcknowledging(t *testing.T) {
	var done []string
	d := watched(t, func(k faultdisk.Kind) error { done = append(done, string(k)); return nil })
	for i, c := range []struct {
		sync bool
		want []string
	}{{true, []string{"write", "sync"}}, {false, []string{"write"}}} {
		done = nil
		log, err := d.Open(t.Context(), "s", Header{})
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && !slices.Equal(done, []string{"sync"}) {
			t.Errorf("opening a journal that is there does %q", done)
		}
		done = nil
		last := log.Last()
		if err := log.Append(t.Context(), last, c.sync, say(last+1, "hello")); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(done, c.want) {
			t.Errorf("an append with sync %v does %q", c.sync, done)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Half a record does not stay in the journal of a program that lives on.
func TestHalfAWriteIsTakenBack(t *testing.T) {
	fails := false
	d := watched(t, func(k faultdisk.Kind) error {
		if fails && k == faultdisk.Write {
			return errors.New("the disk is full") // after a part
		}
		return nil
	})
	log, err := d.Open(t.Context(), "s", Header{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := log.Append(t.Context(), 0, true, say(1, "one")); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(d.Path, "s", journalName)
	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	fails = true
	if err := log.Append(t.Context(), 1, true, say(2, "two")); !errors.Is(err, ErrBroken) {
		t.Errorf("a failed write gives %v", err)
	}
	if after, err := os.ReadFile(name); err != nil || string(after) != string(before) {
		t.Errorf("a failed write leaves %q behind, %v", strings.TrimPrefix(string(after), string(before)), err)
	}
}

// Bytes at the end that no interrupted write leaves are damage. They are not cut off, because
// they may have been facts.
func TestDamagedEnd(t *testing.T) {
	for _, end := range []string{"garbage", `{"sex":3,"prev":2`, "{\"seq\":3\x00\"prev\":2", "\x00\x00{\"seq\":3"} {
		d, data := small(t, 2)
		name := filepath.Join(d.Path, "s", journalName)
		if err := appendFile(name, []byte(end)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := check(t, d, nil); !errors.Is(err, ErrCorrupt) {
			t.Errorf("opening a journal that ends in %q: %v", end, err)
		}
		if now, err := os.ReadFile(name); err != nil || string(now) != string(data)+end {
			t.Errorf("the end %q was cut off, %v", end, err)
		}
	}
}
