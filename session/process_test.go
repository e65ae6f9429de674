package session_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// The test program is started again as other processes, told by this variable
// what to be.
const role = "SESSION_TEST_ROLE"

var roles = map[string]func(session.Folder) error{"hold": hold, "share": share, "write": writeOn}

func TestMain(m *testing.M) {
	as := os.Getenv(role)
	if as == "" {
		os.Exit(m.Run())
	}
	if err := roles[as](session.Folder{Path: os.Getenv("SESSION_TEST_PATH")}); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// start starts a process in the given role and returns it and its output. Its
// input stays open until the test ends.
func start(t *testing.T, d session.Folder, as string, env ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(append(os.Environ(), role+"="+as, "SESSION_TEST_PATH="+d.Path), env...)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

// hold opens the session, says whether it could, and keeps it until its input ends.
func hold(d session.Folder) error {
	log, err := d.Open(context.Background(), "s", session.Header{})
	switch {
	case errors.Is(err, session.ErrBusy):
		fmt.Println("busy")
	case err != nil:
		return err
	default:
		fmt.Println("held")
		defer log.Close()
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	return nil
}

const shares = 10 // facts of each process

// share appends facts, one at an opening, beside others that do the same.
func share(d session.Folder) error {
	for n := 0; n < shares; {
		log, err := d.Open(context.Background(), "s", session.Header{})
		if errors.Is(err, session.ErrBusy) {
			time.Sleep(time.Millisecond)
			continue
		}
		if err != nil {
			return err
		}
		next := ended(log.Last()+1, strconv.Itoa(os.Getpid()))
		if err := errors.Join(log.Append(context.Background(), log.Last(), false, next), log.Close()); err != nil {
			return err
		}
		n++
	}
	return nil
}

// fact returns the fact number seq of the process that is killed: some are
// small, some large, some a blob.
func factOf(seq int64) event.Event {
	size := []int{10, 3000, 31 << 10, 34 << 10}[seq%4]
	return ended(seq, strings.Repeat(fmt.Sprintf("%09d ", seq), size/10))
}

// writeOn appends facts until it is killed, and says which are on the disk.
func writeOn(d session.Folder) error {
	log, err := d.Open(context.Background(), "s", session.Header{})
	if err != nil {
		return err
	}
	for {
		n := log.Last()
		if err := log.Append(context.Background(), n, true, factOf(n+1), factOf(n+2)); err != nil {
			return err
		}
		fmt.Println(n + 2)
	}
}

// Of several processes one has the session, and when it dies another gets it.
func TestOneProcessHoldsTheLock(t *testing.T) {
	d := session.Folder{Path: t.TempDir()}
	var wg sync.WaitGroup
	says := make([]string, 8)
	var holders []*exec.Cmd
	for i := range says {
		cmd, out := start(t, d, "hold")
		holders = append(holders, cmd)
		wg.Go(func() {
			if out.Scan() {
				says[i] = out.Text()
			}
		})
	}
	wg.Wait()
	held := -1
	for i, s := range says {
		switch {
		case s == "held" && held < 0:
			held = i
		case s != "busy":
			t.Fatalf("the processes say %q", says)
		}
	}
	if held < 0 {
		t.Fatalf("the processes say %q", says)
	}
	if _, err := d.Open(t.Context(), "s", session.Header{}); !errors.Is(err, session.ErrBusy) {
		t.Errorf("opening beside them: %v", err)
	}
	if err := d.Delete(t.Context(), "s"); !errors.Is(err, session.ErrBusy) {
		t.Errorf("deleting beside them: %v", err)
	}
	_ = holders[held].Process.Kill()
	_ = holders[held].Wait()
	open(t, d, "s")
}

func TestProcessesShareASession(t *testing.T) {
	t.Parallel()
	d := session.Folder{Path: t.TempDir()}
	const processes = 8
	var wg sync.WaitGroup
	for range processes {
		cmd, out := start(t, d, "share")
		wg.Go(func() {
			for out.Scan() {
				t.Error(out.Text())
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	by := map[string]int{}
	for e, err := range d.Read(t.Context(), "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		by[e.Data.(event.RunEnd).Text]++
	}
	if len(by) != processes {
		t.Errorf("facts of %d processes, want %d", len(by), processes)
	}
	for pid, n := range by {
		if n != shares {
			t.Errorf("%d facts of process %s, want %d", n, pid, shares)
		}
	}
}

var kills = flag.Int("kills", 20, "how often TestKilledWriter kills the writer")

// A writer killed at any moment leaves a session in which nothing is wrong but its
// last line, and that opens with all that was acknowledged.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	var d session.Folder
	for round := range *kills {
		if round%4 == 0 {
			d.Path = t.TempDir() // else the old session continues
		}
		cmd, out := start(t, d, "write")
		acks := 1 + rand.IntN(3)
		var acked int64
		for out.Scan() {
			n, err := strconv.ParseInt(out.Text(), 10, 64)
			if err != nil {
				t.Fatal(out.Text())
			}
			acked = n
			if acks--; acks == 0 {
				time.AfterFunc(time.Duration(rand.IntN(2000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
			}
		}
		_ = cmd.Wait()
		if acked == 0 {
			t.Fatal("nothing was acknowledged")
		}
		if r, err := session.Verify(t.Context(), d, "s"); err != nil || r.Damaged() || session.Found(r).Facts < acked {
			t.Fatalf("%+v, %v; %d facts were acknowledged", r, err, acked)
		}
		log := open(t, d, "s")
		last := log.Last()
		if last < acked {
			t.Fatalf("%d facts, but %d were acknowledged", last, acked)
		}
		_ = log.Close()
		n := int64(0)
		for e, err := range d.Read(t.Context(), "s", 0) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; e.Seq != n || e.Data.(event.RunEnd).Text != factOf(n).Data.(event.RunEnd).Text {
				t.Fatalf("fact %d came back changed", n)
			}
		}
		if n != last {
			t.Fatalf("%d facts, but the last is %d", n, last)
		}
	}
}

// A child process does not inherit the lock.
func TestChildDoesNotKeepTheLock(t *testing.T) {
	d := session.Folder{Path: t.TempDir()}
	log := open(t, d, "s")
	other := session.Folder{Path: t.TempDir()}
	_, out := start(t, other, "hold") // lives on while we close
	if !out.Scan() || out.Text() != "held" {
		t.Fatal(out.Text())
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, d, "s")
}
