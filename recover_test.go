//go:build unix

package agent_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
)

// killAppend tells the host at which append it is to die. Odd numbers: before the
// facts are recorded; even ones: after.
const killAppend = "AGENT_TEST_KILL_APPEND"

// A mortalStore kills the program at an append.
type mortalStore struct {
	session.Store
	left int // half appends
}

func (s *mortalStore) Open(ctx context.Context, id string, h session.Header) (session.Log, error) {
	log, err := s.Store.Open(ctx, id, h)
	return &mortalLog{log, s}, err
}

type mortalLog struct {
	session.Log
	store *mortalStore
}

func (l *mortalLog) Append(ctx context.Context, after int64, sync bool, events ...event.Event) error {
	l.tick()
	err := l.Log.Append(ctx, after, sync, events...)
	l.tick()
	return err
}

func (l *mortalLog) tick() {
	if l.store.left--; l.store.left == 0 {
		p, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = p.Kill()
		}
		if err != nil {
			panic(err)
		}
		select {} // until the signal is there
	}
}

// hostStore is where the host keeps its session.
func hostStore(dir string) session.Store {
	store := session.Store(session.Dir(filepath.Join(dir, "sessions")))
	if n, err := strconv.Atoi(os.Getenv(killAppend)); err == nil {
		return &mortalStore{store, n}
	}
	return store
}

var sweep = flag.Bool("sweep", false, "TestKilledAgain kills at every append, not at every seventh")

// A program is killed at any append, again at an append of the recovery, and again at one
// of that recovery. The run still reaches its end. All recorded facts are there, no write
// is repeated, and no request is refused.
func TestKilledAgain(t *testing.T) {
	t.Parallel()
	kills, first, step := 0, 1, 1
	if !*sweep {
		first, step = 1+rand.IntN(7), 7
	}
	for ; ; first += step {
		server := llmtest.NewServer(t)
		server.Rule = fewTurns
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("notes\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		killed := 0
		var recorded []event.Event
		for _, at := range []int{first, 1 + first%7, 1 + first%5, 0} {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), hostDir+"="+dir, "AGENT_TEST_URL="+server.URL, fmt.Sprintf("%s=%d", killAppend, at))
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState == nil || cmd.ProcessState.Exited() && err != nil && !finished(recorded) {
				t.Fatalf("first kill at %d: %v\n%s", first, err, out)
			}
			if !cmd.ProcessState.Exited() {
				killed++
			}
			recorded = stillThere(t, dir, recorded)
		}
		kills += killed
		if !finished(recorded) {
			t.Fatalf("first kill at %d: after %d kills the run has not ended", first, killed)
		}
		checkLog(t, dir, 0)
		checkResults(t, recorded, 4)
		if killed == 0 {
			break
		}
	}
	if kills < 60/step {
		t.Errorf("only %d kills", kills)
	}
	t.Logf("%d kills", kills)
}

// fewTurns is the worker, in a hurry.
func fewTurns(r *llmtest.Request, n int) llmtest.Step {
	if len(r.Messages) > 4 {
		return say("done")
	}
	return worker(r, n)
}

// finished reports whether the run is over.
func finished(facts []event.Event) bool {
	if len(facts) == 0 {
		return false
	}
	_, over := facts[len(facts)-1].Data.(event.RunEnd)
	return over
}

// stillThere returns the facts of the session, which begin with those that were
// read before.
func stillThere(t *testing.T, dir string, before []event.Event) []event.Event {
	t.Helper()
	d := session.Dir(filepath.Join(dir, "sessions"))
	if _, err := session.Stat(t.Context(), d, "s"); err != nil {
		return nil // nothing was recorded yet
	}
	now := recordedIn(t, d)
	if len(now) < len(before) {
		t.Fatalf("of %d facts %d are left", len(before), len(now))
	}
	for i, e := range before {
		if now[i].UUID() != e.UUID() || !now[i].Time.Equal(e.Time) || event.Type(now[i].Data) != event.Type(e.Data) {
			t.Fatalf("fact %d was %+v and is %+v", i+1, e, now[i])
		}
	}
	if r, err := session.Verify(t.Context(), d, "s"); err != nil || r.Damaged() {
		t.Fatalf("%+v, %v", r, err)
	}
	return now
}
