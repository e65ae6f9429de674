package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// suspendedAgent asks about two calls that write, defers, and notes what ran.
func suspendedAgent(dir string, steps ...llmtest.Step) *agent.Agent {
	return &agent.Agent{Model: llmtest.Script(steps...), Sessions: session.Dir(filepath.Join(dir, "sessions")), CanUseTool: answer(permission.Defer()), Dir: dir,
		Tools: []tool.Tool{write(func(_ context.Context, _ tool.Call, n int) (*tool.Result, error) {
			f, err := os.OpenFile(filepath.Join(dir, "ran"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			_, err = f.WriteString(string(rune('a'+n)) + "\n")
			return tool.Text("written"), err
		})}}
}

// One process asks questions, a second answers them, and a third resumes the run.
func TestApprovalsBetweenProcesses(t *testing.T) {
	dir, id := os.Getenv("TEST_APPROVAL_DIR"), "approval"
	switch os.Getenv("TEST_APPROVAL") {
	case "ask":
		s := suspendedAgent(dir, uses("write", "write", "write")).Session(id)
		defer s.Close()
		if _, err := s.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrSuspended) {
			t.Fatal(err)
		}
		return
	case "answer":
		s := suspendedAgent(dir).Session(id)
		defer s.Close()
		pending, err := s.Pending(t.Context())
		if err != nil || len(pending) != 3 || pending[0].Call.Name != "write" || pending[0].Reason == "" {
			t.Fatalf("%+v, %v", pending, err)
		}
		if err := s.Decide(t.Context(), pending[0].Call.ID, permission.Defer()); err == nil {
			t.Error("deferring what waits is no error")
		}
		if err := s.Decide(t.Context(), "c9.9", permission.Allow()); !errors.Is(err, agent.ErrNoQuestion) {
			t.Error(err)
		}
		if err := s.Decide(t.Context(), pending[0].Call.ID, permission.Deny("not today")); err != nil {
			t.Error(err)
		}
		if err := s.Decide(t.Context(), pending[0].Call.ID, permission.Allow()); !errors.Is(err, agent.ErrNoQuestion) {
			t.Errorf("answering twice: %v", err)
		}
		if err := s.Decide(t.Context(), pending[1].Call.ID, permission.Allow()); err != nil {
			t.Error(err)
		}
		if err := s.Decide(t.Context(), pending[2].Call.ID, permission.AllowWith(json.RawMessage(`{"n":7}`))); err != nil {
			t.Error(err)
		}
		if pending, err = s.Pending(t.Context()); !errors.Is(err, agent.ErrNotRunning) {
			t.Errorf("%+v, %v", pending, err)
		}
		if err := s.Decide(t.Context(), "c2.0", permission.Allow()); !errors.Is(err, agent.ErrNoQuestion) {
			t.Errorf("answering when nothing waits: %v", err)
		}
		return
	}
	dir = t.TempDir()
	for _, part := range []string{"ask", "answer"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestApprovalsBetweenProcesses$")
		cmd.Env = append(os.Environ(), "TEST_APPROVAL="+part, "TEST_APPROVAL_DIR="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", part, err, out)
		}
		if data, _ := os.ReadFile(filepath.Join(dir, "ran")); len(data) > 0 {
			t.Fatalf("%s: %q ran", part, data)
		}
	}
	a := suspendedAgent(dir, say("end"))
	a.CanUseTool = nil
	s := a.Session(id)
	defer s.Close()
	var denied []event.Denial
	for e, err := range s.Resume(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if end, ok := e.Data.(event.RunEnd); ok {
			denied = end.Denials
		}
	}
	data, _ := os.ReadFile(filepath.Join(dir, "ran"))
	if got := strings.Fields(string(data)); len(got) != 2 || got[0] != "b" || got[1] != "h" {
		t.Errorf("ran %q", got)
	}
	if len(denied) != 1 || denied[0].Reason != "not today" || denied[0].Source != policies.FromPerson {
		t.Errorf("denials %+v", denied)
	}
}
