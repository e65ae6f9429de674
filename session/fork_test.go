package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/faultdisk"
	"github.com/openagent-go/agent/internal/safefile"
	"github.com/openagent-go/agent/session"
)

func init() { roles["forks"] = forkOn }

func all(d session.Folder, id string) (facts []event.Event, err error) {
	for e, err := range d.Read(context.Background(), id, 0) {
		if err != nil {
			return nil, err
		}
		e.Session = ""
		facts = append(facts, e)
	}
	return facts, nil
}

// twelve returns a store at a path with a session of 12 facts, blobs among them.
func twelve(t *testing.T, path string) (session.Folder, []event.Event) {
	t.Helper()
	d := session.Folder{Path: path}
	log := open(t, d, "s")
	for n := int64(0); n < 12; n++ {
		if err := log.Append(t.Context(), n, n == 11, factOf(n+1)); err != nil {
			t.Fatal(err)
		}
	}
	_ = log.Close()
	want, err := all(d, "s")
	if err != nil {
		t.Fatal(err)
	}
	return d, want
}

// begin starts a program on a disk in memory, with a store of twelve facts.
func begin(t *testing.T, seed int) (*faultdisk.Disk, *faultdisk.Program, []event.Event) {
	t.Helper()
	disk := faultdisk.New(uint64(seed))
	p := disk.Start()
	t.Cleanup(p.Leave)
	_, want := twelve(t, p.Path("store"))
	return disk, p, want
}

// next starts a program on what is left on a disk, after a power loss, if there was one.
func next(t *testing.T, disk *faultdisk.Disk, loss bool) (*faultdisk.Program, session.Folder) {
	t.Helper()
	if loss {
		disk.PowerLoss()
	}
	p := disk.Start()
	t.Cleanup(p.Leave)
	return p, session.Folder{Path: p.Path("store")}
}

// dead reports whether a program was killed.
func dead(p *faultdisk.Program) bool {
	select {
	case <-p.Died():
		return true
	default:
		return false
	}
}

// wholeOrNone checks that a session is not there, or all of it is.
func wholeOrNone(t *testing.T, d session.Folder, id string, want []event.Event) (there bool) {
	t.Helper()
	got, err := all(d, id)
	if errors.Is(err, session.ErrNotFound) {
		return false
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%s has %d facts of %d, %v", id, len(got), len(want), err)
	}
	if r, err := session.Verify(t.Context(), d, id); err != nil || len(session.Found(r).Problems) > 0 {
		t.Fatalf("%s: %+v, %v", id, r, err)
	}
	if info, err := d.Stat(t.Context(), id); err != nil || info.Facts != int64(len(want)) || info.Size == 0 {
		t.Fatalf("%s: %+v, %v", id, info, err)
	}
	return true
}

// A program that is killed while it forks or makes a session, at any change of the disk,
// leaves the whole session or none, and the next program can make it. So does a power loss.
func TestKilledFork(t *testing.T) {
	t.Parallel()
	whole, none := 0, 0
	for at := 1; ; at++ {
		alive := true
		for seed := 3 * at; seed < 3*at+3; seed++ {
			disk, p, want := begin(t, seed)
			p.KillAt(at)
			d := session.Folder{Path: p.Path("store")}
			facts, err := all(d, "s")
			if err != nil {
				t.Fatal(err)
			}
			for i := range facts {
				facts[i].Session = "made"
			}
			acked := map[string]bool{
				"fork": session.Fork(t.Context(), d, "s", "fork", 0) == nil,
				"made": session.Create(t.Context(), d, session.Header{Session: "made"}, facts) == nil,
			}
			alive = alive && !dead(p)
			p, d = next(t, disk, seed%3 > 0)
			for _, id := range []string{"fork", "made"} {
				switch {
				case wholeOrNone(t, d, id, want):
					whole++
					continue
				case acked[id]:
					t.Fatalf("change %d, seed %d: %s was acknowledged and is gone", at, seed, id)
				}
				none++
				if err := session.Fork(t.Context(), d, "s", id, 0); err != nil {
					t.Fatalf("change %d, seed %d: forking again: %v", at, seed, err)
				}
				if !wholeOrNone(t, d, id, want) {
					t.Fatalf("change %d, seed %d: there is no %s", at, seed, id)
				}
			}
			if left := disk.Dump(); strings.Contains(left, "journal.jsonl.part") || strings.Contains(left, "blobs/part") || len(p.Files()) > 0 {
				t.Fatalf("change %d, seed %d: there are\n%s, and open is %q", at, seed, left, p.Files())
			}
			if !wholeOrNone(t, d, "s", want) {
				t.Fatal("the origin is gone")
			}
		}
		if alive {
			if at < 15 {
				t.Errorf("there were only %d changes", at-1)
			}
			break
		}
	}
	if whole == 0 || none == 0 {
		t.Errorf("%d sessions were whole and %d not there: both should happen", whole, none)
	}
}

// forkOn forks the session s until it is killed and says which forks are on the disk.
func forkOn(d session.Folder) error {
	for {
		id := session.NewID()
		if err := session.Fork(context.Background(), d, "s", id, 0); err != nil {
			return err
		}
		fmt.Println(id)
	}
}

// As TestKilledFork, at random moments.
func TestKilledForks(t *testing.T) {
	t.Parallel()
	d, want := twelve(t, t.TempDir())
	forks := 0
	for range *kills {
		cmd, out := start(t, d, "forks")
		acks := 1 + rand.IntN(3)
		var acked []string
		for out.Scan() {
			if strings.Contains(out.Text(), "error") {
				t.Fatal(out.Text())
			}
			acked = append(acked, out.Text())
			if acks--; acks == 0 {
				time.AfterFunc(time.Duration(rand.IntN(5000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
			}
		}
		_ = cmd.Wait()
		for _, id := range acked {
			if !wholeOrNone(t, d, id, want) {
				t.Fatalf("fork %s was acknowledged and is not there", id)
			}
		}
		forks += len(acked)
	}
	list, err := d.List(t.Context())
	if err != nil || len(list) < forks+1 {
		t.Fatalf("%d sessions, %v; %d forks were acknowledged", len(list), err, forks)
	}
	for _, info := range list {
		wholeOrNone(t, d, info.Session, want)
	}
}

// A program that is killed again while it repairs the remains of a kill, at any change of the
// disk, leaves a session that the next one repairs, after a power loss as well. All acknowledged
// facts are there, and the torn part is kept.
func TestKilledRecovery(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		alive := true
		for seed := 3 * at; seed < 3*at+3; seed++ {
			disk, p, want := begin(t, seed)
			const torn = `{"seq":13,"prev":12,"ti`
			f, err := safefile.Open(p.Path("store", "s", "journal.jsonl"), os.O_WRONLY|os.O_APPEND)
			if err == nil {
				_, err = f.Write([]byte(torn))
				err = errors.Join(err, f.Sync(), f.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
			for again := range 2 {
				p.KillAt(at)
				if log, err := (session.Folder{Path: p.Path("store")}).Open(t.Context(), "s", session.Header{}); err == nil {
					_ = log.Close()
				}
				alive = alive && (again > 0 || !dead(p))
				p, _ = next(t, disk, seed%3 > 0)
			}
			d := session.Folder{Path: p.Path("store")}
			log, err := d.Open(t.Context(), "s", session.Header{})
			if err != nil {
				t.Fatalf("change %d, seed %d: %v", at, seed, err)
			}
			if err := errors.Join(log.Append(t.Context(), 12, true, factOf(13)), log.Close()); err != nil {
				t.Fatalf("change %d, seed %d: %v", at, seed, err)
			}
			more := factOf(13)
			more.Time = more.Time.UTC()
			wholeOrNone(t, d, "s", append(want, more))
			if kept, err := read(p.Path("store", "s", "journal.jsonl.torn")); err != nil || !strings.Contains(kept, torn) {
				t.Fatalf("change %d, seed %d: %q was kept of what was torn, %v", at, seed, kept, err)
			}
		}
		if alive {
			if at < 8 {
				t.Errorf("there were only %d changes", at-1)
			}
			break
		}
	}
}

// read returns the content of a file on any disk.
func read(name string) (string, error) {
	f, err := safefile.Open(name, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(f)
	return string(data), errors.Join(err, f.Close())
}

// A session that cannot be forked whole is not forked at all: each change of the disk fails in
// turn, and nothing is left of the fork.
func TestForkFailures(t *testing.T) {
	t.Parallel()
	disk, p, want := begin(t, 1)
	d := session.Folder{Path: p.Path("store")}
	for at := 1; ; at++ {
		ask, done := faultdisk.At(at, false, syscall.ENOSPC, faultdisk.Changes...)
		disk.Ask = ask
		err := session.Fork(t.Context(), d, "s", "fork", 0)
		disk.Ask = nil
		there := wholeOrNone(t, d, "fork", want)
		if there != (err == nil) {
			t.Fatalf("operation %d: %v, and the fork is there: %t", at, err, there)
		}
		if there {
			if err := d.Delete(t.Context(), "fork"); err != nil {
				t.Fatal(err)
			}
		}
		if entries, _ := safefile.ReadDir(d.Path); len(entries) != 1 || len(p.Files()) > 0 {
			t.Fatalf("operation %d: %v; there are %v, and open is %q", at, err, entries, p.Files())
		}
		if done() < at {
			if at < 15 {
				t.Errorf("there were only %d operations", at-1)
			}
			break
		}
	}
}
