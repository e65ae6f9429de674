//go:build unix

package session_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/sessiontest"
)

// A stopped writer keeps its lock, however long: there is no lease that could run out. It
// continues as if nothing had happened.
func TestStoppedWriter(t *testing.T) {
	t.Parallel()
	d := session.Folder{Path: t.TempDir()}
	cmd, out := start(t, d, "write")
	if !out.Scan() {
		t.Fatal(out.Err())
	}
	for range 3 {
		if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Open(t.Context(), "s", session.Header{}); !errors.Is(err, session.ErrBusy) {
			t.Fatalf("opening beside a stopped writer: %v", err)
		}
		if err := session.Rename(t.Context(), d, "s", "x"); !errors.Is(err, session.ErrBusy) {
			t.Fatalf("renaming beside a stopped writer: %v", err)
		}
		if r, err := session.Verify(t.Context(), d, "s"); err != nil || r.Damaged() {
			t.Fatalf("reading beside a stopped writer: %+v, %v", r, err)
		}
		if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if !out.Scan() || strings.Contains(out.Text(), "error") {
				t.Fatalf("the writer does not go on: %s", out.Text())
			}
		}
	}
	acked, err := strconv.ParseInt(out.Text(), 10, 64)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if log := open(t, d, "s"); err != nil || log.Last() < acked {
		t.Errorf("%d facts of %d, %v", log.Last(), acked, err)
	}
}

// A writer that was stopped while someone put another session in the place of
// its own is refused when it continues, and does not touch the new one.
func TestStoppedWriterIsFenced(t *testing.T) {
	t.Parallel()
	d := session.Folder{Path: t.TempDir()}
	cmd, out := start(t, d, "write")
	if !out.Scan() {
		t.Fatal(out.Err())
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path(d), filepath.Join(d.Path, "old")); err != nil {
		t.Fatal(err)
	}
	facts := sessiontest.Prompts(3)
	log := open(t, d, "s")
	if err := log.Append(t.Context(), 0, true, facts...); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for out.Scan() && !strings.HasPrefix(out.Text(), "error") {
	}
	if !strings.Contains(out.Text(), session.ErrLost.Error()) {
		t.Errorf("the old writer says %q", out.Text())
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the old writer ended well")
	}
	n := 0
	for e, err := range d.Read(t.Context(), "s", 0) {
		if err != nil || e.Data.(event.UserMessage).ID != "m" {
			t.Fatalf("%+v, %v", e, err)
		}
		n++
	}
	if n != len(facts) {
		t.Errorf("the new session has %d facts, want %d", n, len(facts))
	}
}

// A session's folder that goes away while it is written is an error that says so;
// nothing is created again behind the user's back.
func TestFolderGone(t *testing.T) {
	for name, harm := range map[string]func(d session.Folder) error{
		"session": func(d session.Folder) error { return os.RemoveAll(path(d)) },
		"store":   func(d session.Folder) error { return os.RemoveAll(d.Path) },
		"moved":   func(d session.Folder) error { return os.Rename(path(d), d.Path+"/elsewhere") },
		"journal": func(d session.Folder) error { return os.Remove(path(d, "journal.jsonl")) },
		"lock":    func(d session.Folder) error { return os.Remove(path(d, "lock")) },
		"replaced": func(d session.Folder) error {
			return errors.Join(os.RemoveAll(path(d)), os.Mkdir(path(d), 0o700), os.WriteFile(path(d, "journal.jsonl"), nil, 0o600))
		},
		"a file": func(d session.Folder) error {
			return errors.Join(os.RemoveAll(path(d)), os.WriteFile(path(d), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := session.Folder{Path: filepath.Join(t.TempDir(), "store")}
			log := open(t, d, "s")
			if err := log.Append(t.Context(), 0, true, factOf(1)); err != nil {
				t.Fatal(err)
			}
			if err := harm(d); err != nil {
				t.Fatal(err)
			}
			before := tree(t, d.Path)
			err := log.Append(t.Context(), 1, true, factOf(2))
			if !errors.Is(err, session.ErrBroken) || !errors.Is(err, session.ErrLost) && !errors.Is(err, syscall.ENOTDIR) {
				t.Errorf("append: %v", err)
			}
			_ = log.Close()
			if after := tree(t, d.Path); after != before {
				t.Errorf("the log has made %s out of %s", after, before)
			}
		})
	}
}

// tree lists the files below a folder.
func tree(t *testing.T, root string) string {
	t.Helper()
	var names []string
	_ = filepath.WalkDir(root, func(name string, _ os.DirEntry, err error) error {
		if err == nil {
			names = append(names, name)
		}
		return nil
	})
	return strings.Join(names, "\n")
}

// A session can be copied while it is written: the copy is a whole part of it.
func TestForkWhileWritten(t *testing.T) {
	t.Parallel()
	d := session.Folder{Path: t.TempDir()}
	log := open(t, d, "s")
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := int64(0); n < 200; n += 2 {
			if err := log.Append(t.Context(), n, false, factOf(n+1), factOf(n+2)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for i := range 10 {
		id := "copy" + strconv.Itoa(i)
		if err := session.Fork(t.Context(), d, "s", id, 0); err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for e, err := range d.Read(t.Context(), id, 0) {
			if n++; err != nil || e.Seq != n || e.Data.(event.RunEnd).Text != factOf(n).Data.(event.RunEnd).Text {
				t.Fatalf("fact %d of a copy: %v", n, err)
			}
		}
		info, err := d.Stat(t.Context(), id)
		if err != nil || info.Facts != n || info.Parent.Seq != n {
			t.Fatalf("%+v, %v; %d facts", info, err, n)
		}
	}
	wg.Wait()
}

// A clock that jumps changes no order: that is by number.
func TestClockJumps(t *testing.T) {
	d := session.Folder{Path: t.TempDir()}
	log := open(t, d, "s")
	now := time.Date(2026, 3, 29, 1, 59, 0, 0, time.UTC)
	times := []time.Time{now, now.Add(-time.Hour), now.Add(24 * time.Hour), time.Unix(0, 0), now.In(time.FixedZone("", 7200))}
	for i, at := range times {
		e := factOf(int64(i + 1))
		e.Time = at
		if err := log.Append(t.Context(), int64(i), true, e); err != nil {
			t.Fatal(err)
		}
	}
	_ = log.Close()
	i := 0
	for e, err := range d.Read(t.Context(), "s", 0) {
		if err != nil || e.Seq != int64(i+1) || !e.Time.Equal(times[i]) {
			t.Fatalf("%+v, %v", e, err)
		}
		i++
	}
	if i != len(times) {
		t.Errorf("%d facts", i)
	}
	last, err := d.Last(t.Context(), "s", 2, nil)
	if err != nil || last[1].Seq != 5 || last[0].Seq != 4 {
		t.Errorf("the last are %+v, %v", last, err)
	}
	if r, err := session.Verify(t.Context(), d, "s"); err != nil || len(session.Found(r).Problems) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
