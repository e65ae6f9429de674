//go:build unix

package postgres_test

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/postgres"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// treeVar makes a worker one whose sub-agents work in git worktrees of this folder, with confined commands.
const treeVar = "TEST_WORKTREES"

// longCommand is a command that does not end by itself.
const longCommand = "sleep 3599.25"

// treeAgent returns an agent with a sub-agent that runs longCommand in a worktree.
func treeAgent(ws *workspace.Workspace, box *sandbox.Sandbox) *agent.Agent {
	manager := &subagent.Manager{Worktrees: ws}
	kit := tools.Builtins{Workspace: ws, Agents: manager}
	if box != nil {
		kit.Sandbox = box
	}
	a := &agent.Agent{Program: "trees", Dir: ws.Root, Permissions: permission.Policy{Mode: permission.Bypass}, Inbox: manager.Inbox("")}
	for _, t := range kit.Tools() {
		a.Tools = append(a.Tools, t.Tool)
	}
	a.Model = &llmtest.Model{Rule: func(r *llmtest.Request, _ int) llmtest.Step {
		prompt, said := "", 0
		for _, m := range r.Messages {
			switch {
			case m.Role == llm.Assistant:
				said++
			case strings.Contains(m.Text(), "child work"), strings.HasPrefix(m.Text(), "do "):
				prompt, said = m.Text(), 0
			}
		}
		switch {
		case said > 0:
			return llmtest.Say("done")
		case strings.Contains(prompt, "child work"):
			return llmtest.Call(llmtest.Use("", "Bash", map[string]any{"command": longCommand, "timeout": 600000}))
		}
		return llmtest.Call(llmtest.Use("", "Agent", map[string]string{"prompt": "child work", "description": "some work", "subagent_type": "general-purpose", "isolation": "worktree"}))
	}}
	return a
}

func treeProcess(url, dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	db, err := postgres.Open(ctx, url, postgres.Options{Lease: phaseLease})
	if err != nil {
		return err
	}
	defer db.Close()
	w := &durable.Worker{Backend: db, Linger: -1, Agent: func(context.Context, durable.Where) (durable.Hosted, error) {
		ws := &workspace.Workspace{Root: dir}
		box, err := sandbox.New(sandbox.Settings{Enabled: true}, sandbox.Place{Dir: dir})
		if err != nil {
			return durable.Hosted{}, err
		}
		return durable.Hosted{Agent: treeAgent(ws, box), Close: func() {
			_ = ws.Close()
			_ = box.Close()
		}}, nil
	}}
	return postgres.Run(ctx, db, w, postgres.RunOptions{})
}

// running counts the processes of longCommand.
func running(t *testing.T) int {
	t.Helper()
	out, err := exec.Command("pgrep", "-fc", "^"+longCommand+"$").Output()
	if err != nil && len(out) == 0 {
		t.Skip("no pgrep: ", err)
	}
	return len(strings.TrimPrefix(strings.TrimSpace(string(out)), "0"))
}

// A worker is killed while its sub-agent runs a confined command in a git worktree. Another worker on the
// same folder ends the run, and nothing is left behind: no process, no worktree, no branch, no lock.
func TestKilledInWorktree(t *testing.T) {
	t.Parallel()
	url := database(t)
	db := connect(t, url, postgres.Options{Lease: phaseLease})
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...).CombinedOutput()
		if err != nil {
			t.Skipf("git %v: %s, %v", args, out, err)
		}
		return string(out)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "x")
	temp := t.TempDir()
	f := newFleet(t, 0, workerVar+"="+url, treeVar+"="+dir, "TMPDIR="+temp)
	client := &durable.Client{Backend: db, Engine: db.Engine()}
	first := f.add()
	if _, err := client.Send(t.Context(), "s", "p", durable.Prompt{Text: "do it"}); err != nil {
		t.Fatal(err)
	}
	within(t, "the command runs", func() bool { return running(t) > 0 })
	if list := git("worktree", "list", "--porcelain"); strings.Count(list, "worktree ") != 2 {
		t.Errorf("while the command runs, git knows %q", list)
	}
	f.signal(first, syscall.SIGKILL) // another one begins in its place
	within(t, "the command is gone", func() bool { return running(t) == 0 })
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if end, err := client.Wait(ctx, "s", "p"); err != nil || end.Reason != event.Completed {
		t.Errorf("the run ended as %s: %s, %v", end.Reason, end.Message, err)
	}
	f.stop(syscall.SIGTERM)
	if n := validFacts(t, db.Store("", nil), "s"); n.resumed == 0 {
		t.Error("no worker died during the run")
	}
	if list := git("worktree", "list", "--porcelain"); strings.Count(list, "worktree ") != 1 {
		t.Errorf("git knows %q", list)
	}
	if branches := git("branch", "--list", "worktree-*"); branches != "" {
		t.Errorf("branches are left: %q", branches)
	}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".lock") || strings.Contains(path, ".openagent/worktrees/") && e.Name() != ".gitignore" {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(temp)
	if err != nil {
		t.Error(err)
	}
	for _, e := range left { // the folder of the sandbox that died is left
		if !strings.HasPrefix(e.Name(), "openagent-tmp-") || len(left) > 1 {
			t.Errorf("%s is left among temporary files", e.Name())
		}
	}
}
