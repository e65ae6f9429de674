//go:build unix

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// killHost makes the test binary run an agent whose tool kills the program: in the
// folder that it names, called as killHow says.
const killHost, killHow = "AGENT_TEST_KILL_HOST", "AGENT_TEST_KILL_HOW"

// once answers a first request with a step, and one that holds an answer with text.
func once(first llmtest.Step) *llmtest.Model {
	return &llmtest.Model{Rule: func(r *llmtest.Request, _ int) llmtest.Step {
		for _, m := range r.Messages {
			if m.Role == llm.Assistant {
				return say("done")
			}
		}
		return first
	}}
}

// killAgent is an agent that calls a tool which only reads, and kills its program.
func killAgent(dir, how string) *agent.Agent {
	poison := tool.New(tool.Spec{Name: "poison", ReadOnly: true}, func(context.Context, tool.Call, number) (*tool.Result, error) {
		f, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = fmt.Fprintln(f, "called")
			err = errors.Join(err, f.Close(), syscall.Kill(os.Getpid(), syscall.SIGKILL))
		}
		return nil, err
	})
	a := &agent.Agent{Permissions: bypass, Sessions: session.Dir(filepath.Join(dir, "sessions")), Tools: []tool.Tool{poison, tools.Batch()}}
	switch how {
	case "batch":
		a.Model = once(batch("poison"))
	case "agent":
		kind := &agent.Agent{Name: "helper", Model: once(uses("poison")), Tools: a.Tools}
		a.Model, a.Tools = once(delegates(1)), []tool.Tool{delegate(kind, false)}
	default:
		a.Model = once(uses("poison"))
	}
	return a
}

// hostKill runs or resumes the session of a program whose tool kills it.
func hostKill(dir string) {
	s := killAgent(dir, os.Getenv(killHow)).Session("s")
	open, err := s.CanResume(context.Background())
	if err == nil {
		events := s.Resume(context.Background())
		if !open {
			events = s.StreamInput(context.Background(), agent.Input{ID: "p", Text: "go"})
		}
		for _, failed := range events {
			err = errors.Join(err, failed)
		}
	}
	if err = errors.Join(err, s.Close()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A read-only call that kills its program is repeated three times. Then the model learns
// that its result is unknown, and the run continues.
func TestToolThatKills(t *testing.T) {
	for _, how := range []string{"direct", "batch", "agent"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			deaths := 0
			for done := false; !done; {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), killHost+"="+dir, killHow+"="+how)
				out, err := cmd.CombinedOutput()
				var exit *exec.ExitError
				switch {
				case err == nil:
					done = true
				case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL && deaths < 10:
					deaths++
				default:
					t.Fatalf("after %d deaths: %v\n%s", deaths, err, out)
				}
			}
			calls, err := os.ReadFile(filepath.Join(dir, "calls"))
			if err != nil || strings.Count(string(calls), "\n") != 4 || deaths != 4 {
				t.Errorf("the call was made %d times, and the program died %d times, want 4; %v", strings.Count(string(calls), "\n"), deaths, err)
			}
			s := killAgent(dir, how).Session("s")
			defer s.Close()
			if open, err := s.CanResume(t.Context()); open || err != nil || s.Result().Reason != event.Completed || s.Result().Text != "done" {
				t.Errorf("the run ends with %+v; open %v, %v", s.Result(), open, err)
			}
		})
	}
}
