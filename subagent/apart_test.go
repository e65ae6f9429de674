package subagent_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
)

// repository makes the folder of the stage a repository with a file.
func (s *stage) repository() (git func(args ...string) string) {
	git = func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", s.dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			s.t.Skip("git: ", string(out), err)
		}
		return string(out)
	}
	os.WriteFile(filepath.Join(s.dir, "a.txt"), []byte("one\n"), 0o600)
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "x")
	return git
}

// An agent apart that is sent back to work continues in its worktree, whether the call
// asks for isolation again or not.
func TestAgentApartResumed(t *testing.T) {
	for name, isolation := range map[string]string{"asked for": "worktree", "not asked for": ""} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			git := s.repository()
			s.plays("change", use("Bash", map[string]any{"command": "echo two >> a.txt"}), "changed",
				use("Bash", map[string]any{"command": "cat a.txt; echo three >> a.txt"}), func(r *llmtest.Request) llmtest.Step {
					return llmtest.Step{Text: "it held " + told(r)}
				})
			s.plays("go", spawn("change", map[string]any{"isolation": "worktree"}), func(r *llmtest.Request) llmtest.Step {
				_, rest, _ := strings.Cut(told(r), "agent id: ")
				id, _, _ := strings.Cut(rest, ",")
				return llmtest.Call(spawn("more", map[string]any{"resume": id, "isolation": isolation}))
			}, func(r *llmtest.Request) llmtest.Step { return llmtest.Step{Text: told(r)} })
			res := s.prompt("go")
			if !strings.Contains(res.Text, "one\ntwo\n") || !strings.Contains(res.Text, "a.txt | 2 ++") {
				t.Errorf("told %q", res.Text)
			}
			if data, _ := os.ReadFile(filepath.Join(s.dir, "a.txt")); string(data) != "one\n" {
				t.Errorf("the file outside of it is %q", data)
			}
			if n := strings.Count(git("worktree", "list"), "\n"); n != 2 {
				t.Errorf("%d worktrees", n)
			}
		})
	}
}

// Work in a worktree that the user or the end of the program interrupts is reported, with
// the place of its changes.
func TestAgentApartCutShort(t *testing.T) {
	s := newStage(t)
	s.repository()
	sess := s.agent.Session("")
	s.plays("change", use("Bash", map[string]any{"command": "echo two >> a.txt"}), func(*llmtest.Request) llmtest.Step {
		sess.Interrupt(t.Context())
		return llmtest.Call(use("Bash", map[string]any{"command": "sleep 60"}))
	})
	s.plays("go", spawn("change", map[string]any{"isolation": "worktree"}), func(r *llmtest.Request) llmtest.Step { return llmtest.Step{Text: told(r)} })
	if res, err := sess.Prompt(t.Context(), "go"); err == nil {
		t.Fatalf("not interrupted: %+v", res)
	}
	res, err := sess.Prompt(t.Context(), "and?")
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(s.dir, ".openagent", "worktrees"); !strings.Contains(res.Text, want) {
		t.Errorf("told %q", res.Text)
	}
	sess.Close()
}

// A worktree that is gone is made again only where the call asks for one.
func TestAgentApartGone(t *testing.T) {
	s := newStage(t)
	s.repository()
	s.plays("look", "looked", use("Bash", map[string]any{"command": "pwd"}), func(r *llmtest.Request) llmtest.Step { return llmtest.Step{Text: "in " + told(r)} })
	again := func(isolation string) func(r *llmtest.Request) llmtest.Step {
		return func(r *llmtest.Request) llmtest.Step {
			_, rest, _ := strings.Cut(told(r), "agent id: ")
			id, _, _ := strings.Cut(rest, ",")
			return llmtest.Call(spawn("more", map[string]any{"resume": id, "isolation": isolation}))
		}
	}
	s.plays("go", spawn("look", map[string]any{"isolation": "worktree"}), again(""), again("worktree"),
		func(r *llmtest.Request) llmtest.Step { return llmtest.Step{Text: told(r)} })
	res := s.prompt("go")
	for _, want := range []string{"the worktree that the agent has worked in is gone", "in more\n" + filepath.Join(s.dir, ".openagent", "worktrees")} {
		if !strings.Contains(res.Text, want) {
			t.Errorf("no %q in %q", want, res.Text)
		}
	}
}

// An agent in a worktree that dies with its program is reported with the place of its
// changes: in the background by its notice, else beside the result of its call.
func TestAgentApartDies(t *testing.T) {
	for name, background := range map[string]bool{"background": true, "foreground": false} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.repository()
			before, after := t.TempDir(), t.TempDir()
			s.agent.Sessions = session.Dir(before)
			died := make(chan struct{})
			s.plays("change", use("Bash", map[string]any{"command": "echo two >> a.txt"}), func(r *llmtest.Request) llmtest.Step {
				if err := os.CopyFS(after, os.DirFS(before)); err != nil {
					t.Error(err)
				}
				close(died)
				return llmtest.Call(use("Bash", map[string]any{"command": "sleep 60"}))
			})
			s.plays("go", spawn("change", map[string]any{"isolation": "worktree", "run_in_background": background}), "waiting",
				func(r *llmtest.Request) llmtest.Step { return llmtest.Step{Text: told(r)} })
			sess := s.agent.Session("")
			ctx, stop := context.WithCancel(t.Context())
			go func() { <-died; stop() }()
			sess.Prompt(ctx, "go")
			<-died
			stop()
			sess.Close()

			s.plays("go", func(r *llmtest.Request) llmtest.Step { return llmtest.Step{Text: told(r)} })
			next := *s.agent
			next.Sessions = session.Dir(after)
			again := next.Session(sess.ID)
			defer again.Close()
			res, err := again.Prompt(t.Context(), "and?")
			if err != nil {
				t.Fatal(err)
			}
			if want := filepath.Join(s.dir, ".openagent", "worktrees"); strings.Count(res.Text, want) == 0 {
				t.Errorf("told %q", res.Text)
			}
		})
	}
}

// A fork leaves the worktrees of agents to the original session: an agent that works in one
// continues only there.
func TestForkLeavesWorktrees(t *testing.T) {
	s := newStage(t)
	s.repository()
	sess := s.agent.Session("s")
	s.plays("change", use("Bash", map[string]any{"command": "echo two >> a.txt"}), func(*llmtest.Request) llmtest.Step {
		go sess.Close()
		return llmtest.Call(use("Bash", map[string]any{"command": "sleep 60"}))
	})
	s.plays("go", spawn("change", map[string]any{"isolation": "worktree"}), func(r *llmtest.Request) llmtest.Step { return llmtest.Step{Text: told(r)} })
	store := s.agent.Sessions
	for _, err := range sess.Stream(t.Context(), "go") {
		_ = err // it is closed in the meantime
	}
	sess.Close()
	through := int64(0)
	for e, err := range store.Read(t.Context(), "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Data.(event.AgentStart); ok {
			through = e.Seq
		}
	}
	if err := session.Fork(t.Context(), store, "s", "fork", through); err != nil {
		t.Fatal(err)
	}
	fork := s.agent.Session("fork")
	defer fork.Close()
	for _, err := range fork.Resume(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if text := fork.Result().Text; !strings.Contains(text, "belongs to the session that this one was forked from") {
		t.Errorf("told %q", text)
	}
	files, err := filepath.Glob(filepath.Join(s.dir, ".openagent", "worktrees", "*", "a.txt"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if data, _ := os.ReadFile(files[0]); string(data) != "one\ntwo\n" {
		t.Errorf("the worktree has %q", data)
	}
}
