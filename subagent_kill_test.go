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
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// sleepers returns a session whose run puts n agents to work that each have a
// process which sleeps, with the text by which these are found.
func sleepers(tb testing.TB, n int, background bool) (run *agent.Session, marker string) {
	marker = fmt.Sprintf("5%d.%d", os.Getpid(), rand.IntN(1e6))
	ws := &workspace.Workspace{Root: tb.TempDir()}
	tb.Cleanup(func() { ws.Close() })
	kind := &agent.Agent{Name: "helper", Model: &llmtest.Model{Rule: func(*llmtest.Request, int) llmtest.Step {
		return llmtest.Call(llmtest.Use("", "Bash", map[string]any{"command": "sleep " + marker + " | cat"}))
	}}}
	a := &agent.Agent{Permissions: bypass, MaxParallelCalls: n, Dir: ws.Root, Tools: append(tools.Core(ws), delegate(kind, background)), AwaitAgents: true,
		Model: &llmtest.Model{Rule: func(_ *llmtest.Request, i int) llmtest.Step {
			if i == 0 {
				return delegates(slices.Collect(count(n))...)
			}
			return say("end")
		}}}
	return a.Session(""), marker
}

// The end of the root's context ends the agents that it waits for. Its Close ends all
// agents. Their processes end too.
func TestChildrenEndWithTheirProcesses(t *testing.T) {
	for name, background := range map[string]bool{"cancelled": false, "closed": true} {
		t.Run(name, func(t *testing.T) {
			run, marker := sleepers(t, 50, background)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error)
			go func() { _, err := run.Prompt(ctx, "go"); ended <- err }()
			waitFor(t, func() bool { return strings.Count(processes(t, marker), "\n") >= 50 })
			if background {
				go run.Close()
			} else {
				cancel()
			}
			if err := <-ended; !errors.Is(err, agent.ErrInterrupted) {
				t.Errorf("the run ended with %v", err)
			}
			run.Close()
			if left := processes(t, marker); left != "" {
				t.Errorf("there are\n%s", left)
			}
		})
	}
}

// BenchmarkCancelAgents measures the end of 50 agents, each with a process that sleeps,
// from the end of the root's context on.
func BenchmarkCancelAgents(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		run, marker := sleepers(b, 50, false)
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan struct{})
		go func() { run.Prompt(ctx, "go"); close(ended) }()
		for strings.Count(processes(b, marker), "\n") < 50 {
			time.Sleep(10 * time.Millisecond)
		}
		b.StartTimer()
		cancel()
		<-ended
		run.Close()
		b.StopTimer()
		if left := processes(b, marker); left != "" {
			b.Fatal(left)
		}
		b.StartTimer()
	}
}

// hostFamily tells the host that its agent has others.
const hostFamily = "AGENT_TEST_FAMILY"

const (
	waitedFor = 3
	besides   = 2
)

// withFamily lets a host's agent put others to work, some in the background.
func withFamily(a *agent.Agent) {
	kind := &agent.Agent{Name: "helper"}
	a.Tools = append(a.Tools, delegate(kind, false), delegateAs("aside", kind, true))
}

// afterFamily waits for the agents in the background and has their ends told.
func afterFamily(s *agent.Session) error {
	for len(s.Children()) > 0 {
		time.Sleep(time.Millisecond)
	}
	_, err := s.Do(context.Background(), agent.Input{ID: "q", Text: "and?"})
	return err
}

// family plays the parent, and its agents, which each write a line of their own.
func family(r *llmtest.Request, _ int) llmtest.Step {
	var step llmtest.Step
	n := 0
	child, _ := fmt.Sscanf(r.Messages[0].Text(), "work %d", &n)
	switch {
	case child == 0 && len(r.Messages) == 1:
		for i := range waitedFor {
			step.Calls = append(step.Calls, llmtest.Use("", "delegate", number{i}))
		}
		for i := range besides {
			step.Calls = append(step.Calls, llmtest.Use("", "aside", number{waitedFor + i}))
		}
	case child == 1 && len(r.Messages) == 1:
		step = llmtest.Call(llmtest.Use("", "Bash", map[string]any{"command": fmt.Sprintf("echo line %d >> log; sleep 0.02; echo ok", n)}))
	case child == 1 && len(r.Messages) == 3:
		step = llmtest.Call(llmtest.Use("", "Read", map[string]any{"file_path": "notes.txt"}))
	default:
		step.Text = "done"
	}
	step.EventDelay = time.Millisecond
	return step
}

// A program that is killed while it and its agents work, again and again, gets to the
// end with requests that a strict server accepts; no agent's write is repeated, each
// call has its result, and each end in the background is told once. (C13)
func TestKilledFamily(t *testing.T) {
	t.Parallel()
	kills := 0
	server := llmtest.NewServer(t)
	server.Rule = family
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("notes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for longest, done := 100, false; !done; longest += 120 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), hostDir+"="+dir, hostFamily+"=1", "AGENT_TEST_URL="+server.URL)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(out)
		if _, err := r.ReadString('\n'); err != nil {
			t.Fatal("the host did not start:", err)
		}
		timer := time.AfterFunc(time.Duration(rand.IntN(longest))*time.Millisecond, func() { cmd.Process.Kill() })
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
			t.Fatalf("the host failed: %v\n%s", err, rest)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "log")); err == nil {
		checkLog(t, dir, 0)
	}
	checkFamily(t, session.Dir(filepath.Join(dir, "sessions")))
	t.Logf("%d kills", kills)
}

// checkFamily checks that each call has one result, each agent one end, and that each
// end in the background is told once.
func checkFamily(t *testing.T, store session.Store) {
	t.Helper()
	started, ended, results := map[string]bool{}, map[string]int{}, map[string]int{}
	var messages []llm.Message
	background := 0
	for e, err := range store.Read(t.Context(), "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch f := e.Data.(type) {
		case event.AgentStart:
			if started[f.Key] = true; f.Background {
				background++
			}
		case event.AgentEnd:
			ended[f.Key]++
		case event.ToolResult:
			results[f.Call]++
		case event.UserMessage:
			messages = append(messages, f.Message)
		}
	}
	for key := range started {
		if ended[key] != 1 {
			t.Errorf("agent %s has %d ends", key, ended[key])
		}
	}
	if len(results) != waitedFor+besides {
		t.Errorf("%d calls have results", len(results))
	}
	for call, n := range results {
		if n != 1 {
			t.Errorf("call %s has %d results", call, n)
		}
	}
	told := notices(messages)
	for id, n := range told {
		if n != 1 {
			t.Errorf("the end of %s is told %d times", id, n)
		}
	}
	if len(told) != background || len(started) != waitedFor+besides {
		t.Errorf("%d agents, %d in the background, %d told of", len(started), background, len(told))
	}
}
