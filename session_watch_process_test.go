//go:build unix

package agent_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
)

// Watchers of a session that runs in another process see each fact once, in order, also if
// that process is killed and another one resumes the run. They join before the session
// exists and later. They disturb no writer.
func TestWatchAnotherProcess(t *testing.T) {
	server := llmtest.NewServer(t)
	server.Rule = worker
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("notes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	store := session.Dir(filepath.Join(dir, "sessions"))
	a := &agent.Agent{Sessions: store} // it cannot run, and need not
	var wg sync.WaitGroup
	watch := func(after int64) {
		wg.Go(func() {
			_, err := watchUntil(t.Context(), a.Session("s"), after, func(e event.Event) bool {
				end, ok := e.Data.(event.RunEnd)
				return ok && end.Reason == event.Completed
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	watch(0)
	watch(0)
	kills := 0
	for longest, done := 150, false; !done; longest += 20 { // after ten kills it may end
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), hostDir+"="+dir, "AGENT_TEST_URL="+server.URL,
			"GORACE=atexit_sleep_ms=0") // else each program lives for another second
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(60+rand.IntN(longest))*time.Millisecond, func() { cmd.Process.Kill() })
		if kills >= 10 {
			timer.Stop()
		}
		time.Sleep(30 * time.Millisecond)
		if info, err := session.Stat(t.Context(), store, "s"); err == nil && kills < 10 {
			watch(rand.Int64N(info.Facts + 1))
		}
		err := cmd.Wait()
		timer.Stop()
		var exit *exec.ExitError
		switch {
		case err == nil:
			done = true
		case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
			kills++
		default:
			t.Fatalf("the host failed: %v", err)
		}
	}
	wg.Wait()
	checkJournal(t, dir)
	t.Logf("%d kills", kills)
}
