package session

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
	"time"
)

// older puts a session of an invented version 0, in which prompts had another
// name, in the place of d's, and teaches the package to read it. It returns the
// facts as they should come out.
func older(t *testing.T, n int64) (folderStore, []byte) {
	d, data := small(t, n)
	lines := bytes.SplitAfter(data, []byte("\n"))
	old := []byte(Seal(fmt.Sprintf(`{"openagent":0,"session":"s","created":%q,"cwd":"/work"`, time.Unix(1, 0).UTC().Format(time.RFC3339))))
	for _, line := range lines[1 : len(lines)-1] {
		body := bytes.ReplaceAll(line[:len(line)-1-crcLength], []byte("user_message"), []byte("said"))
		old = append(old, Seal(string(body))...)
	}
	if err := os.WriteFile(filepath.Join(d.Path, "s", journalName), old, 0o600); err != nil {
		t.Fatal(err)
	}
	migrations[0] = func(r *record) error {
		if r.Type == "said" {
			r.Type = "user_message"
		}
		if bytes.Contains(r.Data, []byte("impossible")) {
			return errors.New("impossible")
		}
		return nil
	}
	t.Cleanup(func() { delete(migrations, 0) })
	return d, old
}

// A session of an older version is read as it is, and brought to this version
// when it is opened, on a copy.
func TestOlderVersion(t *testing.T) {
	const n = 3
	d, old := older(t, n)
	want, err := facts(d)
	if err != nil || len(want) != n || !reflect.DeepEqual(want[1], say(2, "prompt 2")) {
		t.Fatalf("read %+v, %v", want, err)
	}
	if last, err := d.Last(t.Context(), "s", 2, nil); err != nil || !reflect.DeepEqual(last, want[1:]) {
		t.Errorf("the last are %+v, %v", last, err)
	}
	if info, err := d.Stat(t.Context(), "s"); err != nil || info.Prompt != "prompt 1" || info.Messages != n {
		t.Errorf("stat: %+v, %v", info, err)
	}
	r, err := Verify(t.Context(), d, "s")
	if err != nil || r.Damaged() || len(r.found.Problems) != 1 || r.found.Problems[0].Kind != problemVersion {
		t.Errorf("verify: %+v, %v", r, err)
	}
	name := filepath.Join(d.Path, "s", journalName)
	if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, old) {
		t.Fatalf("reading has changed the file, %v", err)
	}

	log, err := d.Open(t.Context(), "s", Header{})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Append(t.Context(), n, true, say(n+1, "new")); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(name + ".v0"); err != nil || !bytes.Equal(kept, old) {
		t.Errorf("the old journal is not kept: %v", err)
	}
	delete(migrations, 0) // no longer needed
	got, err := facts(d)
	if err != nil || !reflect.DeepEqual(got, append(want, say(n+1, "new"))) {
		t.Errorf("read %+v, %v", got, err)
	}
	if info, err := d.Stat(t.Context(), "s"); err != nil || !info.Created.Equal(time.Unix(1, 0)) || info.Dir != "/work" {
		t.Errorf("stat: %+v, %v", info, err)
	}
}

// Whatever operation of the disk fails in the meantime, the old session or the new one
// is there, and the migration can be made again.
func TestMigrationFails(t *testing.T) {
	for at := 1; ; at++ {
		d, _ := older(t, 3)
		want, err := facts(d)
		if err != nil {
			t.Fatal(err)
		}
		done, repaired := failing(d.Path, at, false, syscall.ENOSPC)
		log, err := d.Open(t.Context(), "s", Header{})
		if err == nil {
			_ = log.Close()
		}
		repaired()
		if done() < at {
			break
		}
		for range 2 {
			if got, err := facts(d); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("operation %d: %d facts, %v", at, len(got), err)
			}
			log, err := d.Open(t.Context(), "s", Header{})
			if err != nil {
				t.Fatalf("operation %d: going on: %v", at, err)
			}
			_ = log.Close()
		}
		if names, _ := filepath.Glob(filepath.Join(d.Path, "s", "*.part")); len(names) > 0 {
			t.Errorf("operation %d left %q", at, names)
		}
	}
}

// A journal that cannot be migrated is damaged, and is left alone.
func TestMigrationRefuses(t *testing.T) {
	d, _ := older(t, 2)
	name := filepath.Join(d.Path, "s", journalName)
	line := Seal(`{"seq":3,"prev":2,"time":"2026-01-02T03:04:05Z","type":"said","data":{"id":"impossible"}`)
	if err := appendFile(name, []byte(line)); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(name)
	if _, err := d.Open(t.Context(), "s", Header{}); DamagedLine(err) != 4 {
		t.Errorf("opening: %v", err)
	}
	if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, before) {
		t.Errorf("the file was touched: %v", err)
	}
	if r, err := Repair(t.Context(), d, "s"); err != nil || r.done.Kept != 2 || r.Backup == "" {
		t.Errorf("repair: %+v, %v", r, err)
	}
	if got, err := facts(d); err != nil || len(got) != 2 {
		t.Errorf("%d facts after the repair, %v", len(got), err)
	}
}
