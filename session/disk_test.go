package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/faultdisk"
	"github.com/openagent-go/agent/internal/safefile"
	"github.com/openagent-go/agent/llm"
)

// say returns fact number seq, a prompt of the given text.
func say(seq int64, text string) event.Event {
	return event.Event{
		Seq: seq, Prev: seq - 1, Session: "s",
		Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		Data: event.UserMessage{ID: fmt.Sprint("m", seq), Delivery: fact.AsPrompt, Message: llm.UserText(text)},
	}
}

// facts reads the facts of a session, to its end or the first error.
func facts(s Store) (all []event.Event, err error) {
	for e, err := range s.Read(context.Background(), "s", 0) {
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
	return all, nil
}

// quick is a disk that does not wait for anything to be synced.
type quick struct{ safefile.System }

func (quick) SyncFolder(string) error { return nil }

func (d quick) Open(name string, flag int, mode fs.FileMode) (safefile.File, error) {
	f, err := d.System.Open(name, flag, mode)
	if err != nil {
		return nil, err
	}
	return quickFile{f.(*os.File)}, nil
}

type quickFile struct{ *os.File }

func (quickFile) Sync() error { return nil }

func (f quickFile) TryLock(mode safefile.Mode) (bool, error) { return safefile.TryLock(f.File, mode) }

func (f quickFile) Unlock() error { return safefile.Unlock(f.File) }

// quickly saves the waiting for what is synced below a folder, and returns it.
func quickly(t testing.TB, path string) string {
	t.Cleanup(safefile.Mount(path, quick{}))
	return path
}

// failing lets operation at of the disk of a quick folder fail, counting from 1, with stays all
// later ones too, until repaired is called. done says how many operations there were.
func failing(path string, at int, stays bool, err error) (done func() int, repaired func()) {
	ask, done := faultdisk.At(at, stays, err)
	safefile.Mount(path, faultdisk.Faulty{Disk: quick{}, Ask: ask})
	return done, func() { safefile.Mount(path, quick{}) }
}

// script lists the writes of the next test: single facts, a batch, blobs.
var script = func() [][]event.Event {
	big := strings.Repeat("big ", 33<<8)
	return [][]event.Event{
		{say(1, "one")},
		{say(2, "two"), say(3, big), say(4, "four")},
		{say(5, big)},
		{say(6, "six")},
	}
}()

// play writes the missing part of the script and returns how many facts were acknowledged
// before the first failure, which cause brings. done counts the operations of the disk.
func play(t *testing.T, d folderStore, cause error, done func() int) (acked int64, err error) {
	log, err := d.Open(context.Background(), "s", Header{})
	if err != nil {
		return 0, err
	}
	for _, batch := range script {
		if n := log.Last(); batch[len(batch)-1].Seq > n {
			for batch[0].Seq <= n { // a part of it is there
				batch = batch[1:]
			}
			if err = log.Append(context.Background(), n, batch[0].Seq != 2, batch...); err != nil {
				stuck(t, log, err, cause, done)
				break
			}
		}
		acked = log.Last()
	}
	return acked, errors.Join(err, log.Close())
}

// stuck checks that a log that has failed touches the disk no more.
func stuck(t *testing.T, log Log, first, cause error, done func() int) {
	t.Helper()
	if !errors.Is(first, ErrBroken) || !errors.Is(first, cause) {
		t.Errorf("append failed with %T: %v", first, first)
	}
	before := done()
	for range 2 {
		if err := log.Append(context.Background(), log.Last(), true, say(log.Last()+1, "again")); err != first {
			t.Errorf("a broken log gives %v, not %v again", err, first)
		}
	}
	if done() != before {
		t.Error("a broken log has touched the disk")
	}
}

// Whatever operation of the disk fails, once or from then on: acknowledged facts stay
// readable, and the session can be opened and continued. A failed log is dead. Above all it
// never syncs a second time, because a system may have dropped data that it could not
// write.
func TestDiskFailures(t *testing.T) {
	t.Parallel()
	var want []event.Event
	for _, batch := range script {
		want = append(want, batch...)
	}
	torn := []byte(`{"seq":1,"prev":0,"ti`)
	for _, fails := range []struct {
		err   error
		stays bool
	}{{syscall.ENOSPC, false}, {syscall.ENOSPC, true}, {syscall.EIO, false}, {syscall.EIO, true}, {syscall.EDQUOT, true}} {
		for at := 1; ; at++ {
			path := quickly(t, t.TempDir())
			good := folderStore{Path: path}
			if at%2 == 0 { // begin with an unfinished record
				log, err := good.Open(t.Context(), "s", Header{})
				if err := errors.Join(err, log.Close(), appendFile(filepath.Join(path, "s", journalName), torn)); err != nil {
					t.Fatal(err)
				}
			}
			done, repaired := failing(path, at, fails.stays, fails.err)
			acked, err := play(t, good, fails.err, done)
			repaired()
			if err == nil && done() < at {
				if at < 20 {
					t.Errorf("only %d operations were made", done())
				}
				break
			}
			got, err := facts(good)
			if err != nil && !(errors.Is(err, ErrNotFound) && acked == 0) {
				t.Fatalf("operation %d: reading: %v", at, err)
			}
			if int64(len(got)) < acked || len(got) > 0 && !reflect.DeepEqual(got, want[:len(got)]) {
				t.Fatalf("operation %d: %d facts of %d acknowledged ones were read", at, len(got), acked)
			}
			if _, err := play(t, good, nil, nil); err != nil {
				t.Fatalf("operation %d: going on: %v", at, err)
			}
			if got, err := facts(good); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("operation %d: %d facts after going on, %v", at, len(got), err)
			}
		}
	}
}

// A reader gets the error of a failing disk; the end of the file is something else.
func TestReadFailure(t *testing.T) {
	good := folderStore{Path: quickly(t, t.TempDir())}
	if _, err := play(t, good, nil, nil); err != nil {
		t.Fatal(err)
	}
	for at := 1; ; at++ {
		done, repaired := failing(good.Path, at, false, syscall.ENOSPC)
		got, err := facts(good)
		repaired()
		if done() < at {
			break
		}
		if !errors.Is(err, syscall.ENOSPC) && len(got) < 6 {
			t.Errorf("operation %d: %d facts, %v", at, len(got), err)
		}
	}
}

func appendFile(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// small returns a store without syncing whose session s has n facts, and the
// bytes of its journal.
func small(t *testing.T, n int64) (folderStore, []byte) {
	t.Helper()
	d := folderStore{Path: quickly(t, t.TempDir())}
	log, err := d.Open(t.Context(), "s", Header{Created: time.Unix(1, 0), Dir: "/work"})
	if err != nil {
		t.Fatal(err)
	}
	for seq := int64(1); seq <= n; seq++ {
		if err := log.Append(t.Context(), seq-1, true, say(seq, fmt.Sprint("prompt ", seq))); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(d.Path, "s", journalName))
	if err != nil {
		t.Fatal(err)
	}
	return d, data
}

// check opens the session as its journal now is and compares it with a prefix of
// the facts. It returns how many facts there are and how many bytes were cut.
func check(t *testing.T, d folderStore, want []event.Event) (n int, torn int64, err error) {
	t.Helper()
	before, readErr := facts(d)
	log, err := d.Open(t.Context(), "s", Header{Created: time.Unix(1, 0), Dir: "/work"})
	if err != nil {
		if readErr == nil {
			t.Errorf("reading says nothing of %v", err)
		}
		return 0, 0, err
	}
	defer log.Close()
	got, err := facts(d)
	if err := errors.Join(readErr, err); err != nil {
		t.Fatalf("opened, but reading fails: %v", err)
	}
	if !reflect.DeepEqual(before, got) {
		t.Fatalf("%d facts were read before the opening, %d after", len(before), len(got))
	}
	if len(got) > len(want) || len(got) > 0 && !reflect.DeepEqual(got, want[:len(got)]) {
		t.Fatalf("%d facts are not the first of those written", len(got))
	}
	if log.Last() != int64(len(got)) {
		t.Fatalf("last is %d with %d facts", log.Last(), len(got))
	}
	if info, err := d.Stat(t.Context(), "s"); err != nil || info.Dir != "/work" || info.Facts != log.Last() {
		t.Fatalf("stat: %+v, %v", info, err)
	}
	return len(got), Torn(log), nil
}

// A journal cut off anywhere opens with the facts that are whole, and says how
// much it lost.
func TestCutAnywhere(t *testing.T) {
	t.Parallel()
	const n = 2
	d, data := small(t, n)
	want, err := facts(d)
	if err != nil || len(want) != n {
		t.Fatal(len(want), err)
	}
	name := filepath.Join(d.Path, "s", journalName)
	tails := [][]byte{nil, make([]byte, 100)} // a power cut leaves zeros
	for size := range len(data) + 1 {
		for _, tail := range tails[:1+(size+1)%4/3] {
			if err := os.WriteFile(name, append(data[:size:size], tail...), 0o600); err != nil {
				t.Fatal(err)
			}
			_ = os.Remove(filepath.Join(d.Path, "s", tornName))
			whole := strings.LastIndexByte(string(data[:size]), '\n') + 1
			got, torn, err := check(t, d, want)
			if err != nil {
				t.Fatalf("cut at %d: %v", size, err)
			}
			if lines := strings.Count(string(data[:whole]), "\n"); got != max(lines-1, 0) {
				t.Fatalf("cut at %d: %d facts of %d lines", size, got, lines)
			}
			lost := append(data[whole:size:size], tail...)
			if torn != int64(len(lost)) {
				t.Fatalf("cut at %d: %d bytes are reported, want %d", size, torn, len(lost))
			}
			kept, _ := os.ReadFile(filepath.Join(d.Path, "s", tornName))
			if record := fmt.Sprintf("{\"offset\":%d,\"bytes\":%d}\n%s\n", whole, torn, lost); torn > 0 && string(kept) != record {
				t.Fatalf("cut at %d: kept %q, want %q", size, kept, record)
			}
		}
	}
}

// A changed byte is damage in its line, in the last record too, and the file is left
// alone: by opening, reading, forking and verifying. Every bit is flipped.
func TestChangeAnywhere(t *testing.T) {
	t.Parallel()
	const n = 2
	d, data := small(t, n)
	want, err := facts(d)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(d.Path, "s", journalName)
	line := 1
	for i, old := range data {
		changes := []byte{'\n', 0, 'x'}
		for bit := range 8 {
			changes = append(changes, old^1<<bit)
		}
		for _, b := range changes {
			if b == old {
				continue
			}
			changed := append([]byte(nil), data...)
			changed[i] = b
			if err := os.WriteFile(name, changed, 0o600); err != nil {
				t.Fatal(err)
			}
			got, torn, err := check(t, d, want)
			switch {
			case errors.Is(err, ErrVersion) && line == 1:
			case errors.Is(err, ErrCorrupt):
				if DamagedLine(err) != line || !strings.Contains(err.Error(), name) {
					t.Fatalf("byte %d of line %d to %q: %v", i, line, b, err)
				}
				if now, err := os.ReadFile(name); err != nil || string(now) != string(changed) {
					t.Fatalf("byte %d to %q: the damaged file was touched, %v", i, b, err)
				}
			case err != nil:
				t.Fatalf("byte %d of line %d to %q: %v", i, line, b, err)
			case i == len(data)-1 && b == 0:
				if torn == 0 || got != n-1 { // as a power cut leaves it
					t.Fatalf("zero in place of the last newline: %d facts, %d bytes torn", got, torn)
				}
			default:
				t.Fatalf("byte %d of line %d to %q was not noticed: %d facts, %d bytes torn", i, line, b, got, torn)
			}
			if r, err := Verify(t.Context(), d, "s"); err != nil && !errors.Is(err, ErrVersion) || err == nil && !r.Damaged() && torn == 0 {
				t.Fatalf("byte %d of line %d to %q: verify says %+v, %v", i, line, b, r, err)
			}
			if _, err := d.Last(t.Context(), "s", n, nil); torn == 0 && err == nil {
				t.Fatalf("byte %d of line %d to %q: nothing is noticed from the end", i, line, b)
			}
			if err := Fork(t.Context(), d, "s", "f", 0); torn == 0 && err == nil {
				t.Fatalf("byte %d of line %d to %q: a fork is made of it", i, line, b)
			}
		}
		if old == '\n' {
			line++
		}
	}
}
