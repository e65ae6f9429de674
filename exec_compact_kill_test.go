//go:build unix

package agent_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
)

// hostCompacts has the host's agent compact its conversation again and again.
const hostCompacts = "AGENT_TEST_COMPACTS"

// talkative is a worker whose commands write much, and fail so that it is not cleared.
func talkative(r *llmtest.Request, _ int) llmtest.Step {
	if wantsSummary(&r.Request) {
		return llmtest.Step{Text: "<memory>\n- constraint: no line twice\n</memory><summary>So far so good.</summary>", Pieces: 12, EventDelay: 3 * time.Millisecond}
	}
	next := 0
	for _, m := range r.Messages {
		for _, u := range m.ToolUses() {
			n := 0
			if _, err := fmt.Sscanf(u.ID, "w%d", &n); err == nil {
				next = max(next, n+1)
			}
		}
	}
	if next >= turns {
		return llmtest.Step{Text: "done"}
	}
	return llmtest.Call(llmtest.Use(fmt.Sprintf("w%d", next), "Bash", map[string]any{"command": fmt.Sprintf("echo line %d >> log; seq 1 4000; exit 3", next)}))
}

// A program is killed while it compacts its conversation. The next one continues with the
// old conversation or the new one, never with a mix. (C11)
func TestKilledCompaction(t *testing.T) {
	asked := make(chan struct{}, 1000)
	server := &llmtest.Server{Rule: func(r *llmtest.Request, n int) llmtest.Step {
		if wantsSummary(&r.Request) {
			asked <- struct{}{}
		}
		return talkative(r, n)
	}}
	if err := server.Listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Close()
		for _, v := range server.Violations() {
			t.Error(v)
		}
	})
	dir := t.TempDir()
	kills := 0
	for done := false; !done; {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), hostDir+"="+dir, "AGENT_TEST_URL="+server.URL, hostCompacts+"=1")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(out)
		if _, err := r.ReadString('\n'); err != nil {
			t.Fatal("the host did not start:", err)
		}
		ended := make(chan struct{})
		if kills < 10 {
			go func() {
				select {
				case <-asked:
					time.Sleep(time.Duration(rand.IntN(90)) * time.Millisecond)
					cmd.Process.Kill()
				case <-ended:
				}
			}()
		}
		rest, _ := io.ReadAll(r)
		err = cmd.Wait()
		close(ended)
		var exit *exec.ExitError
		switch {
		case err == nil:
			done = true
		case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
			kills++
		default:
			t.Fatalf("the host failed: %v\n%s", err, rest)
		}
	}
	checkLog(t, dir, 0)
	facts := recordedIn(t, session.Dir(filepath.Join(dir, "sessions")))
	checkResults(t, facts, turns)
	if n := checkPrefixes(t, facts); n == 0 || kills == 0 {
		t.Errorf("%d compactions, %d kills", n, kills)
	}
	t.Logf("%d kills", kills)
}
