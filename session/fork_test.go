package session_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

func init() {
	roles["fork"] = forkMortally
	roles["recover"] = recoverMortally
	roles["forks"] = forkOn
}

// killAt says before which operation of the disk a process kills itself.
const killAt = "SESSION_TEST_KILL_AT"

// mortal returns a store that ends the program at the operation that was asked for.
func mortal(d session.Folder) (session.Folder, error) {
	at, err := strconv.Atoi(os.Getenv(killAt))
	return session.Mortal(d.Path, at), err
}

// forkMortally forks the session s and makes one of its facts.
func forkMortally(d session.Folder) error {
	m, err := mortal(d)
	if err != nil {
		return err
	}
	facts, err := all(d, "s")
	if err != nil {
		return err
	}
	for i := range facts {
		facts[i].Session = "made"
	}
	return errors.Join(session.Fork(context.Background(), m, "s", "fork", 0),
		session.Create(context.Background(), m, session.Header{Session: "made"}, facts))
}

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

// killed runs a process in the given role that kills itself at operation at, and
// reports whether it did.
func killed(t *testing.T, d session.Folder, as string, at int) bool {
	t.Helper()
	cmd, out := start(t, d, as, killAt+"="+strconv.Itoa(at))
	for out.Scan() {
		t.Fatal(out.Text())
	}
	return cmd.Wait() != nil
}

// twelve returns a store with a session of 12 facts, blobs among them.
func twelve(t *testing.T) (session.Folder, []event.Event) {
	t.Helper()
	d := session.Folder{Path: t.TempDir()}
	log := open(t, d, "s")
	for n := int64(0); n < 12; n++ {
		if err := log.Append(t.Context(), n, false, factOf(n+1)); err != nil {
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

// A program that is killed while it forks or makes a session, at whatever
// operation of the disk, leaves the whole session or none, and the next program
// can make it.
func TestKilledFork(t *testing.T) {
	t.Parallel()
	whole, none := 0, 0
	for at := 1; ; at++ {
		d, want := twelve(t)
		if !killed(t, d, "fork", at) {
			if at < 15 {
				t.Errorf("there were only %d operations", at-1)
			}
			break
		}
		for _, id := range []string{"fork", "made"} {
			if wholeOrNone(t, d, id, want) {
				whole++
				continue
			}
			none++
			if err := session.Fork(t.Context(), d, "s", id, 0); err != nil {
				t.Fatalf("operation %d: forking again: %v", at, err)
			}
			if !wholeOrNone(t, d, id, want) {
				t.Fatalf("operation %d: there is no %s", at, id)
			}
			if parts, _ := filepath.Glob(filepath.Join(d.Path, id, "*.part")); len(parts) > 0 {
				t.Fatalf("operation %d: %q are left", at, parts)
			}
		}
		if !wholeOrNone(t, d, "s", want) {
			t.Fatal("the origin is gone")
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
	d, want := twelve(t)
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

// recoverMortally opens the session s, which is torn.
func recoverMortally(d session.Folder) error {
	m, err := mortal(d)
	if err != nil {
		return err
	}
	log, err := m.Open(context.Background(), "s", session.Header{})
	if err != nil {
		return err
	}
	return log.Close()
}

// A program that is killed again while it repairs the remains of a kill, at any operation
// of the disk, leaves a session that the next one repairs. All acknowledged facts are
// there, and the torn part is kept.
func TestKilledRecovery(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		d, want := twelve(t)
		const torn = `{"seq":13,"prev":12,"ti`
		put(t, path(d, "journal.jsonl"), slurp(t, path(d, "journal.jsonl"))+torn)
		again := killed(t, d, "recover", at)
		killed(t, d, "recover", at) // and again
		log, err := d.Open(t.Context(), "s", session.Header{})
		if err != nil {
			t.Fatalf("operation %d: %v", at, err)
		}
		if err := errors.Join(log.Append(t.Context(), 12, true, factOf(13)), log.Close()); err != nil {
			t.Fatalf("operation %d: %v", at, err)
		}
		next := factOf(13)
		next.Time = next.Time.UTC()
		wholeOrNone(t, d, "s", append(want, next))
		if kept := slurp(t, path(d, "journal.jsonl.torn")); !strings.Contains(kept, torn) {
			t.Fatalf("operation %d: %q was kept of what was torn", at, kept)
		}
		if !again {
			if at < 8 {
				t.Errorf("there were only %d operations", at-1)
			}
			break
		}
	}
}

// A session that cannot be forked whole is not forked at all, whatever operation
// of the disk fails, and nothing is left of it.
func TestForkFailures(t *testing.T) {
	t.Parallel()
	d, want := twelve(t)
	for at := 1; ; at++ {
		failing, failed := session.Failing(d.Path, at)
		err := session.Fork(t.Context(), failing, "s", "fork", 0)
		there := wholeOrNone(t, d, "fork", want)
		if there != (err == nil) {
			t.Fatalf("operation %d: %v, and the fork is there: %t", at, err, there)
		}
		if there {
			if err := d.Delete(t.Context(), "fork"); err != nil {
				t.Fatal(err)
			}
		}
		if entries, _ := os.ReadDir(d.Path); len(entries) != 1 {
			t.Fatalf("operation %d: %v; there are %v", at, err, entries)
		}
		if !failed() {
			if at < 15 {
				t.Errorf("there were only %d operations", at-1)
			}
			break
		}
	}
}
