package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// kill ends the program at once, as kill -9 does.
func kill() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {}
}

// approvalTree is a lead over a middle over a helper that pays, with approval.
func approvalTree(t *testing.T, dir string, background bool, answer agent.CanUseToolFunc) *agent.Agent {
	pay := tool.New(tool.Spec{Name: "pay", NeedsApproval: tool.AskAlways("it pays")}, func(context.Context, tool.Call, number) (*tool.Result, error) {
		f, err := os.OpenFile(filepath.Join(dir, "paid"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		_, err = f.WriteString("paid\n")
		return tool.Text("paid"), err
	})
	helper := &agent.Agent{Name: "helper", Model: byTurn(t, uses("pay"), say("helped")), Tools: []tool.Tool{pay}}
	middle := &agent.Agent{Name: "middle", Model: byTurn(t, delegates(1), say("passed on"), say("passed on"), say("passed on")), Tools: []tool.Tool{delegate(helper, background), pay}}
	return &agent.Agent{Name: "lead", Model: byTurn(t, delegates(1), say("end"), say("end"), say("end"), say("end")), Tools: []tool.Tool{delegate(middle, background), pay}, AwaitAgents: true,
		Sessions: session.Dir(filepath.Join(dir, "sessions")), Permissions: bypass, CanUseTool: answer}
}

// A helper of a sub-agent asks. The program is killed after the question was deferred, or
// while it is asked. Another program answers and is killed, too. A third one continues.
// Nothing is paid twice.
func TestApprovalOfAgentsBetweenProcesses(t *testing.T) {
	dir, part := os.Getenv("TEST_TREE_DIR"), os.Getenv("TEST_TREE")
	step, background := strings.CutSuffix(part, "-background")
	switch step {
	case "defer":
		s := approvalTree(t, dir, background, deferAsked).Session("lead")
		if _, err := s.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrSuspended) {
			t.Fatal(err)
		}
		kill()
	case "ask":
		s := approvalTree(t, dir, background, func(_ context.Context, _ tool.Call, v permission.Decision) (permission.Decision, error) {
			if v.Behavior == permission.Asked {
				kill()
			}
			return permission.Decision{}, nil
		}).Session("lead")
		_, err := s.Prompt(t.Context(), "go")
		t.Fatal("the program was not killed", err)
	case "answer":
		s := approvalTree(t, dir, background, deferAsked).Session("lead")
		if err := decideTree(t, s, by("ann", time.Hour)); err != nil {
			t.Fatal(err)
		}
		kill()
	}
	for name, c := range map[string]struct {
		steps      []string
		background bool
		paid       string
	}{
		"deferred":            {steps: []string{"defer", "answer"}, paid: "paid\n"},
		"asked":               {steps: []string{"ask", "answer"}, paid: "paid\n"},
		"deferred background": {steps: []string{"defer-background", "answer-background"}, background: true, paid: "paid\n"},
		"asked background":    {steps: []string{"ask-background"}, background: true}, // a background agent ends with its program
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, step := range c.steps {
				cmd := exec.Command(os.Args[0], "-test.run=^TestApprovalOfAgentsBetweenProcesses$")
				cmd.Env = append(os.Environ(), "TEST_TREE="+step, "TEST_TREE_DIR="+dir)
				out, err := cmd.CombinedOutput()
				if err == nil || strings.Contains(string(out), "FAIL") {
					t.Fatalf("%s: %v\n%s", step, err, out)
				}
			}
			s := approvalTree(t, dir, c.background, nil).Session("lead")
			defer s.Close()
			resume(t, s)
			paid, _ := os.ReadFile(filepath.Join(dir, "paid"))
			if res := s.Result(); string(paid) != c.paid || res == nil || res.Reason != event.Completed {
				t.Errorf("paid %q, %+v", paid, res)
			}
		})
	}
}

// decideTree answers the one question of the helper.
func decideTree(t *testing.T, s *agent.Session, d permission.Decision) error {
	pending, err := s.Pending(t.Context())
	if err != nil || len(pending) != 1 {
		return fmt.Errorf("%+v, %w", pending, err)
	}
	if q := pending[0]; q.Call.Agent != "helper" || q.Call.Root != "lead" || !strings.Contains(q.Reason, "it pays") {
		return fmt.Errorf("asked about %+v because %q", q.Call, q.Reason)
	}
	return s.Decide(t.Context(), pending[0].Call.ID, d)
}
