package subagent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

// defers leaves the decisions about Bash for later.
func (s *stage) defers() {
	s.agent.Permissions.Mode = permission.Default
	s.agent.CanUseTool = func(_ context.Context, c tool.Call, v permission.Decision) (permission.Decision, error) {
		switch {
		case c.Name == "Bash":
			return permission.Defer(), nil
		case v.Behavior == permission.Asked:
			return permission.Allow(), nil
		}
		return permission.Decision{}, nil
	}
}

// suspended waits until an agent of the session waits for a decision, and returns its session.
func (s *stage) suspended(id string) string {
	for range 10_000 {
		for e := range s.agent.Sessions.Read(s.t.Context(), id, 0) {
			if f, ok := e.Data.(fact.AgentSuspended); ok {
				return f.Session
			}
		}
		time.Sleep(time.Millisecond)
	}
	s.t.Error("no agent waits")
	return ""
}

// approve allows the only question of a session that waits, and resumes the session.
func approve(t *testing.T, run *agent.Session) *agent.Result {
	t.Helper()
	open, err := run.Pending(t.Context())
	if err != nil || len(open) != 1 {
		t.Fatalf("%d questions, %v", len(open), err)
	}
	if err := run.Decide(t.Context(), open[0].Call.ID, permission.Allow()); err != nil {
		t.Fatal(err)
	}
	for _, err := range run.Resume(t.Context()) {
		if err != nil {
			t.Error(err)
		}
	}
	return run.Result()
}

// A background agent whose question is open cannot be given another task: the question would
// be lost. It continues after the decision, in the same session or in one opened later.
func TestResumeWaitingAgent(t *testing.T) {
	for _, reopened := range []bool{false, true} {
		s := newStage(t)
		s.defers()
		s.plays("work", use("Bash", map[string]any{"command": "echo approved"}), func(r *llmtest.Request) llmtest.Step {
			return llmtest.Step{Text: "ran " + told(r)}
		})
		var answer, last string
		s.plays("go", spawn("work", map[string]any{"run_in_background": true}), func(*llmtest.Request) llmtest.Step {
			return llmtest.Call(spawn("more", map[string]any{"resume": s.suspended("s")}))
		}, func(r *llmtest.Request) llmtest.Step {
			answer = told(r)
			return llmtest.Step{Text: "waiting"}
		}, func(r *llmtest.Request) llmtest.Step {
			last = told(r)
			return llmtest.Step{Text: "end"}
		})
		s.agent.AwaitAgents = true
		run := s.agent.Session("s")
		if _, err := run.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrSuspended) {
			t.Errorf("the run ended with %v", err)
		}
		if !strings.Contains(answer, "waits for a decision") {
			t.Errorf("the parent was told %q", answer)
		}
		if reopened {
			run.Close()
			run = s.agent.Session("s")
		}
		approve(t, run)
		if !strings.Contains(last, "ran approved") {
			t.Errorf("reopened %v: the parent was told %q", reopened, last)
		}
		run.Close()
	}
}

// TaskStop does not stop an agent that waits for a decision, and says so, for the agent and for the
// task that it works on: the agent continues after the decision.
func TestStopWaitingAgent(t *testing.T) {
	s := newStage(t)
	s.defers()
	s.plays("ann's work", use("TaskUpdate", map[string]any{"id": "1", "status": "in_progress"}), use("Bash", map[string]any{"command": "echo approved"}), "ann is done")
	var answers []string
	ask := func(tool, id string) func(r *llmtest.Request) llmtest.Step {
		return func(r *llmtest.Request) llmtest.Step {
			answers = append(answers, told(r))
			return llmtest.Call(use(tool, map[string]any{"id": id}))
		}
	}
	s.plays("go", use("TaskCreate", map[string]any{"subject": "x"}), spawn("ann's work", map[string]any{"run_in_background": true, "name": "ann"}),
		func(*llmtest.Request) llmtest.Step {
			s.suspended("s")
			return llmtest.Call(use("TaskStop", map[string]any{"id": "ann"}))
		}, ask("TaskOutput", "ann"), ask("TaskStop", "1"), func(r *llmtest.Request) llmtest.Step {
			answers = append(answers, told(r))
			return llmtest.Step{Text: "waiting"}
		}, "end")
	run := s.agent.Session("s")
	defer run.Close()
	if _, err := run.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrSuspended) {
		t.Errorf("the run ended with %v", err)
	}
	if len(answers) != 3 || strings.Contains(strings.Join(answers, "\n"), "was stopped") {
		t.Fatalf("the parent was told %q", answers)
	}
	for i, text := range answers[:2] {
		if !strings.Contains(text, "waits for a decision") {
			t.Errorf("answer %d is %q", i, text)
		}
	}
	approve(t, run)
}

// Mail for a member of a team whose question is open does not close the question.
func TestMailForWaitingMember(t *testing.T) {
	for _, reopened := range []bool{false, true} {
		s := newStage(t)
		s.defers()
		read := make(chan string, 10)
		s.plays("ann's work", use("Bash", map[string]any{"command": "echo approved"}), func(r *llmtest.Request) llmtest.Step {
			read <- told(r)
			return llmtest.Step{Text: "ann is done"}
		}, func(r *llmtest.Request) llmtest.Step {
			read <- told(r)
			return llmtest.Step{Text: "ann has read"}
		})
		end := func(*llmtest.Request) llmtest.Step { return llmtest.Step{Text: "end"} }
		s.plays("go", use("TeamCreate", map[string]any{"name": "red", "members": []string{"ann"}}), spawn("ann's work", map[string]any{"name": "ann"}),
			func(*llmtest.Request) llmtest.Step {
				s.suspended("s")
				return llmtest.Call(use("SendMessage", map[string]any{"to": "ann", "message": "hurry up"}))
			}, end, end, end, end, end)
		run := s.agent.Session("s")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if _, err := run.Prompt(ctx, "go"); !errors.Is(err, agent.ErrSuspended) {
			t.Errorf("the run ended with %v", err)
		}
		if reopened {
			run.Close()
			run = s.agent.Session("s")
		}
		approve(t, run)
		all := ""
		for len(read) > 0 {
			all += <-read
		}
		if !strings.Contains(all, "approved") {
			t.Errorf("reopened %v: ann has read %q", reopened, all)
		}
		run.Close()
	}
}

// An agent that waits for a decision keeps its worktree, with the files that git ignores. It
// continues there after the decision, in the background or not, also in another program. A
// fork does not work in the worktree of the other session.
func TestApprovalInWorktree(t *testing.T) {
	for name, c := range map[string]struct{ background, reopened, fork bool }{
		"foreground": {}, "background": {background: true}, "reopened": {reopened: true}, "background, reopened": {background: true, reopened: true}, "fork": {reopened: true, fork: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			git := s.repository()
			os.WriteFile(filepath.Join(s.dir, ".gitignore"), []byte("*.out\n.openagent\n"), 0o600)
			git("add", ".")
			git("commit", "-q", "-m", "y")
			s.agent.Sessions = session.Dir(filepath.Join(t.TempDir(), "sessions"))
			s.agent.AwaitAgents = true
			var last string
			play := func(s *stage) {
				s.defers()
				s.mu.Lock()
				s.parts["change"] = func(r *llmtest.Request) llmtest.Step {
					switch len(r.Messages) {
					case 1:
						return llmtest.Call(use("Write", map[string]any{"file_path": "built.out", "content": "ignored\n"}))
					case 3:
						return llmtest.Call(use("Bash", map[string]any{"command": "cat built.out; echo two >> a.txt; cat a.txt"}))
					}
					return llmtest.Step{Text: "changed " + told(r)}
				}
				s.parts["go"] = func(r *llmtest.Request) llmtest.Step {
					if len(r.Messages) == 1 {
						return llmtest.Call(spawn("change", map[string]any{"isolation": "worktree", "run_in_background": c.background}))
					}
					last = told(r)
					return llmtest.Step{Text: "end"}
				}
				s.mu.Unlock()
			}
			play(s)
			run := s.agent.Session("s")
			if _, err := run.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrSuspended) {
				t.Fatalf("the run ended with %v", err)
			}
			if n := strings.Count(git("worktree", "list"), "\n"); n != 2 {
				t.Errorf("%d worktrees while the agent waits", n)
			}
			if c.reopened {
				run.Close()
				later := newStage(t)
				later.agent.Sessions, later.agent.AwaitAgents = s.agent.Sessions, true
				later.ws.Close()
				*later.ws = workspace.Workspace{Root: s.dir}
				later.agent.Dir, later.dir = s.dir, s.dir
				play(later)
				s = later
				id := "s"
				if c.fork {
					id = "fork"
					if err := session.Fork(t.Context(), s.agent.Sessions, "s", id, 0); err != nil {
						t.Fatal(err)
					}
				}
				run = s.agent.Session(id)
			}
			approve(t, run)
			run.Close()
			if c.fork {
				if !strings.Contains(last, "belongs to the session that this one was forked from") {
					t.Errorf("told %q", last)
				}
				return
			}
			if !strings.Contains(last, "changed ") || !strings.Contains(last, "ignored\none\ntwo\n") || !strings.Contains(last, "a.txt | 1 +") {
				t.Errorf("told %q", last)
			}
			if data, _ := os.ReadFile(filepath.Join(s.dir, "a.txt")); string(data) != "one\n" {
				t.Errorf("the file outside of it is %q", data)
			}
		})
	}
}
