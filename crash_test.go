//go:build unix

package agent_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// The test binary is also the program that gets killed.
const hostDir = "AGENT_TEST_HOST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(hostDir); dir != "" {
		host(dir)
		return
	}
	if dir := os.Getenv(hookHostDir); dir != "" {
		hookHost(dir)
		return
	}
	if dir := os.Getenv(killHost); dir != "" {
		hostKill(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// turns is how many answers of the model call tools before it says done.
const turns = 12

// worker answers by the state of the conversation: each turn reads a file and
// appends a line of its own to the log.
func worker(r *llmtest.Request, _ int) llmtest.Step {
	n := 0
	for _, m := range r.Messages {
		if m.Role == llm.Assistant {
			n++
		}
	}
	if n >= turns {
		return llmtest.Step{Text: "done", EventDelay: time.Millisecond}
	}
	s := llmtest.Call(
		llmtest.Use(fmt.Sprintf("r%d", n), "Read", map[string]any{"file_path": "notes.txt", "limit": n + 1}),
		llmtest.Use(fmt.Sprintf("w%d", n), "Bash", map[string]any{"command": fmt.Sprintf("echo line %d >> log; sleep 0.01; echo ok", n)}))
	s.EventDelay = time.Millisecond
	return s
}

func crashAgent(dir, url string, ws *workspace.Workspace) *agent.Agent {
	return &agent.Agent{Model: (&anthropic.Client{APIKey: "k", BaseURL: url}).Model("claude-sonnet-4-6"), Dir: dir,
		Tools: tools.Core(ws), Permissions: bypass, Sessions: hostStore(dir)}
}

// host runs or resumes the session until it is done or killed.
func host(dir string) {
	ws := &workspace.Workspace{Root: dir}
	a := crashAgent(dir, os.Getenv("AGENT_TEST_URL"), ws)
	if os.Getenv(hostFamily) != "" {
		withFamily(a)
	}
	if os.Getenv(hostCompacts) != "" {
		a.Compaction = &agent.Compaction{At: 0.02}
	}
	s := a.Session("s")
	fmt.Println("up")
	open, err := s.CanResume(context.Background())
	if err == nil {
		events := s.Resume(context.Background())
		if !open {
			events = s.StreamInput(context.Background(), agent.Input{ID: "p", Text: "go"})
		}
		for _, e := range events {
			err = errors.Join(err, e)
		}
		if os.Getenv(hostFamily) != "" {
			err = errors.Join(err, afterFamily(s))
		}
	}
	err = errors.Join(err, s.Close(), ws.Close())
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// A program that is killed at any moment resumes with requests that a strict
// server accepts, and repeats no write.
func TestKill(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 0))
	kills, rounds := 0, 0
	for kills < 20 {
		if rounds++; rounds > 20 {
			t.Fatalf("only %d kills in %d rounds", kills, rounds)
		}
		server := llmtest.NewServer(t)
		server.Rule = worker
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("notes\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		longest := 150 // ms; each kill leaves more time, so that a slow machine gets on as well
		for done := false; !done; longest += 20 {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), hostDir+"="+dir, "AGENT_TEST_URL="+server.URL)
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
			timer := time.AfterFunc(time.Duration(rnd.IntN(longest))*time.Millisecond, func() { cmd.Process.Kill() })
			rest, _ := io.ReadAll(r)
			err = cmd.Wait()
			timer.Stop()
			var exit *exec.ExitError
			switch {
			case err == nil:
				done = true
			case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
				kills++
			default:
				t.Fatalf("seed %d: the host failed: %v\n%s", seed, err, rest)
			}
		}
		checkLog(t, dir, seed)
		checkJournal(t, dir)
	}
	t.Logf("%d kills in %d rounds", kills, rounds)
}

// checkLog checks that no line was written twice.
func checkLog(t *testing.T, dir string, seed uint64) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if seen[line] {
			t.Errorf("seed %d: %q was written twice", seed, line)
		}
		seen[line] = true
	}
}

// checkJournal checks that the run has one end and each call one result.
func checkJournal(t *testing.T, dir string) {
	t.Helper()
	checkResults(t, recordedIn(t, session.Dir(filepath.Join(dir, "sessions"))), 2*turns)
}

// checkResults checks that a run has one end, and so many calls with one result each.
func checkResults(t *testing.T, facts []event.Event, calls int) {
	t.Helper()
	ends, results := 0, map[string]int{}
	for _, e := range facts {
		switch f := e.Data.(type) {
		case event.RunEnd:
			ends++
		case event.ToolResult:
			results[f.Call]++
		}
	}
	if ends != 1 || len(results) != calls {
		t.Errorf("%d ends, %d calls with results", ends, len(results))
	}
	for call, n := range results {
		if n != 1 {
			t.Errorf("call %s has %d results", call, n)
		}
	}
}

// Interrupts at random moments leave no process and no goroutine, and the conversation can
// continue.
func TestInterruptStorm(t *testing.T) {
	server := llmtest.NewServer(t)
	marker := fmt.Sprintf("4%d.%d", os.Getpid(), time.Now().UnixNano()%1e6)
	server.Rule = func(r *llmtest.Request, n int) llmtest.Step {
		s := llmtest.Call(
			llmtest.Use("", "Bash", map[string]any{"command": fmt.Sprintf("echo %d; (sleep %s &) ; sleep %s | cat", n, marker, marker)}),
			llmtest.Use("", "Grep", map[string]any{"pattern": "x"}))
		s.EventDelay = time.Millisecond
		return s
	}
	dir := t.TempDir()
	ws := &workspace.Workspace{Root: dir}
	s := crashAgent(dir, server.URL, ws).Session("s")
	for i := range 100 {
		timer := time.AfterFunc(time.Duration(rand.IntN(40))*time.Millisecond, func() {
			for { // it may come before the run
				if _, err := s.Interrupt(context.Background()); !errors.Is(err, agent.ErrNotRunning) {
					return
				}
				time.Sleep(time.Millisecond)
			}
		})
		res, err := s.Prompt(t.Context(), "go")
		timer.Stop()
		if !errors.Is(err, agent.ErrInterrupted) || res == nil {
			t.Fatalf("interrupt %d: %+v, %v", i, res, err)
		}
		if left := processes(t, marker); i%10 == 9 && left != "" {
			t.Fatalf("after %d interrupts there are\n%s", i+1, left)
		}
	}
	if err := errors.Join(s.Close(), ws.Close()); err != nil {
		t.Error(err)
	}
	if left := processes(t, marker); left != "" {
		t.Errorf("at the end there are\n%s", left)
	}
}

// processes lists those whose command line holds the marker.
func processes(t testing.TB, marker string) string {
	t.Helper()
	out, err := exec.Command("ps", "-eo", "pid,args").Output()
	if err != nil {
		t.Skip("no ps here:", err)
	}
	var found strings.Builder
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "sleep "+marker) {
			found.WriteString(line)
		}
	}
	return found.String()
}
