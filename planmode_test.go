package agent_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// planned is an agent with the tools of plan mode and one that writes.
func planned(mode permission.Mode, ask agent.CanUseToolFunc, steps ...llmtest.Step) (a *agent.Agent, writes *int) {
	writes = new(int)
	enter, exit := tools.PlanMode()
	w := write(func(context.Context, tool.Call, int) (*tool.Result, error) {
		*writes++
		return tool.Text("written"), nil
	})
	return &agent.Agent{Model: llmtest.Script(steps...), Tools: []tool.Tool{enter, exit, w, double}, Permissions: permission.Policy{Mode: mode},
		CanUseTool: ask, Sessions: session.Memory()}, writes
}

func enterPlan() llmtest.Step {
	return llmtest.Call(llmtest.Use("", "EnterPlanMode", map[string]any{}))
}

func exitPlan() llmtest.Step {
	return llmtest.Call(llmtest.Use("", "ExitPlanMode", map[string]any{"plan": "# Write"}))
}

// person answers questions about plans, and allows what else is asked about.
func person(plan permission.Decision, asked *[]string) agent.CanUseToolFunc {
	return func(_ context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error) {
		if verdict.Behavior != permission.Asked {
			return permission.Decision{}, nil
		}
		*asked = append(*asked, call.Name+": "+verdict.Reason)
		if call.Name == "ExitPlanMode" {
			return plan, nil
		}
		return permission.Allow(), nil
	}
}

// results are the texts of the tools' results that the model saw.
func results(m llm.Model) []string {
	var out []string
	requests := m.(*llmtest.Model).Requests()
	for _, msg := range requests[len(requests)-1].Messages {
		for _, b := range msg.Content {
			if r, ok := b.(llm.ToolResult); ok {
				out = append(out, r.Content.Text())
			}
		}
	}
	return out
}

// After EnterPlanMode no tool writes until a person approves the plan.
func TestPlanMode(t *testing.T) {
	for _, mode := range []permission.Mode{permission.Default, permission.AcceptEdits, permission.Auto, permission.Bypass} {
		t.Run(string(mode), func(t *testing.T) {
			var asked []string
			a, writes := planned(mode, nil, enterPlan(), uses("write"), uses("double"), exitPlan(), uses("write"), say("done"))
			at := -1
			answer := person(permission.Allow(), &asked)
			a.CanUseTool = func(ctx context.Context, call tool.Call, v permission.Decision) (permission.Decision, error) {
				if call.Name == "ExitPlanMode" {
					at = *writes
				}
				return answer(ctx, call, v)
			}
			s := a.Session("s")
			defer s.Close()
			if _, err := s.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			got := results(a.Model)
			if !strings.Contains(got[1], "Permission denied") || !strings.Contains(got[1], "plan") || got[2] != "2" && got[2] != "0" {
				t.Errorf("in plan mode: %q", got)
			}
			if at != 0 || *writes != 1 || !strings.Contains(got[3], "approved") || !strings.Contains(got[3], string(mode)) {
				t.Errorf("%d writes before the plan was approved, %d in all: %q", at, *writes, got)
			}
			questions := 0
			for _, q := range asked {
				if strings.HasPrefix(q, "ExitPlanMode: approve the plan") {
					questions++
				}
			}
			if questions != 1 || len(asked) > 2 {
				t.Errorf("asked: %q", asked) // what has to wait is not asked about
			}
		})
	}
}

// In plan mode a person is asked only if the answer can let the call run. This holds for
// the agent's own mode, a parent's mode, and hooks and Deciders that ask.
func TestPlanModeAsksNothingInVain(t *testing.T) {
	plan := permission.Policy{Mode: permission.Plan}
	asks := policyFunc(func(permission.Request) permission.Decision { return permission.Ask("a policy asks") })
	defers := hook.Hook{On: hook.PreToolUse, Func: func(context.Context, *hook.Input) (hook.Output, error) {
		return hook.Output{Permission: permission.Deferred}, nil
	}}
	for name, set := range map[string]func(*agent.Agent){
		"mode":    func(a *agent.Agent) { a.Permissions = plan },
		"ceiling": func(a *agent.Agent) { a.Permissions = permission.Policy{}.Within(plan) },
		"policy":  func(a *agent.Agent) { a.Permissions, a.Deciders = plan, []permission.Decider{asks} },
		"hook":    func(a *agent.Agent) { a.Permissions, a.Hooks = plan, []hook.Hook{defers} },
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			a, writes := planned(permission.Plan, person(permission.Allow(), &asked), uses("write"), say("done"))
			set(a)
			if _, err := a.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			if got := results(a.Model); *writes != 0 || len(asked) > 0 || !strings.Contains(got[0], "wait in mode plan") {
				t.Errorf("%d writes, asked %q: %q", *writes, asked, got)
			}
		})
	}
	fetched := 0
	fetch := tool.New(tool.Spec{Name: "fetch", ReadOnly: true}, func(context.Context, tool.Call, number) (*tool.Result, error) {
		fetched++
		return tool.Text("fetched"), nil
	}).OnClassify(func(tool.Call, number) tool.Traits {
		return tool.Traits{ReadOnly: true, Access: []permission.Access{{Kind: permission.FetchURL, Target: "https://example.com"}}}
	})
	var asked []string
	a, _ := planned(permission.Plan, person(permission.Allow(), &asked), uses("fetch"), say("done"))
	a.Tools = append(a.Tools, fetch)
	if _, err := a.Prompt(t.Context(), "go"); err != nil || fetched != 1 || len(asked) != 1 {
		t.Errorf("fetched %d times, asked %q, %v", fetched, asked, err)
	}
}

type policyFunc func(permission.Request) permission.Decision

func (f policyFunc) Decide(r permission.Request) permission.Decision { return f(r) }

// A plan that is not approved leaves the run in plan mode, and the model reads why.
func TestPlanModeDenied(t *testing.T) {
	var asked []string
	for name, ask := range map[string]agent.CanUseToolFunc{
		"by a person":   person(permission.Deny("use less code"), &asked),
		"without words": person(permission.Decision{Behavior: permission.Denied}, &asked),
		"nobody there":  nil,
		"no opinion": func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
			return permission.Decision{}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, writes := planned(permission.Bypass, ask, enterPlan(), exitPlan(), uses("write"), say("done"))
			s := a.Session("s")
			defer s.Close()
			if _, err := s.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			got := results(a.Model)
			if *writes != 0 || !strings.Contains(got[1], "Permission denied") || !strings.Contains(got[2], "Permission denied") {
				t.Errorf("%d writes: %q", *writes, got)
			}
			if name == "by a person" && !strings.Contains(got[1], "use less code") {
				t.Errorf("the model does not read the reason: %q", got[1])
			}
		})
	}
}

// A call that comes with ExitPlanMode in one answer is judged after it.
func TestPlanModeInOneAnswer(t *testing.T) {
	var asked []string
	both := llmtest.Call(llmtest.Use("", "ExitPlanMode", map[string]any{"plan": "# Write"}), llmtest.Use("", "write", number{1}))
	for want, answer := range []permission.Decision{permission.Deny("no"), permission.Allow()} {
		a, writes := planned(permission.Bypass, person(answer, &asked), enterPlan(), both, say("done"))
		if _, err := a.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		if *writes != want {
			t.Errorf("%v: %d writes", answer.Behavior, *writes)
		}
	}
	a, writes := planned(permission.Bypass, nil, llmtest.Call(llmtest.Use("", "EnterPlanMode", map[string]any{}), llmtest.Use("", "write", number{1})), say("done"))
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if *writes != 0 {
		t.Error("a write beside EnterPlanMode ran")
	}
}

// A run that began in plan mode goes on in mode default, and one that another
// program left in it as well, whatever that program had allowed.
func TestPlanModeOfHost(t *testing.T) {
	var asked []string
	a, writes := planned(permission.Plan, person(permission.Allow(), &asked), exitPlan(), uses("write"), say("done"))
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if *writes != 1 || !slices.ContainsFunc(asked, func(q string) bool { return strings.HasPrefix(q, "write: ") }) {
		t.Errorf("%d writes, asked: %q", *writes, asked)
	}

	first, _ := planned(permission.Bypass, nil, enterPlan(), say("done"))
	s := first.Session("s")
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	asked = nil
	second, writes := planned("", person(permission.Allow(), &asked), uses("write"), exitPlan(), uses("write"), say("done"))
	second.Sessions = first.Sessions
	s = second.Session("s")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "go on"); err != nil {
		t.Fatal(err)
	}
	got := results(second.Model)
	if *writes != 1 || !strings.Contains(got[1], "Permission denied") || !strings.Contains(got[2], "mode is default") ||
		!slices.ContainsFunc(asked, func(q string) bool { return strings.HasPrefix(q, "write: ") }) {
		t.Errorf("%d writes, asked %q: %q", *writes, asked, got)
	}
}

// All tools work in a worktree once it was entered, and a session that is resumed
// is still there.
func TestWorktreeSession(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "-q", "-m", "first"}} {
		if args[0] == "add" {
			if err := os.WriteFile(filepath.Join(top, "a.txt"), []byte("one\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("git", args...)
		cmd.Dir = top
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %s", args, out)
		}
	}
	store := session.Dir(t.TempDir())
	run := func(prompt string, steps ...llmtest.Step) []string {
		t.Helper()
		ws := &workspace.Workspace{Root: top}
		defer ws.Close()
		a := &agent.Agent{Model: llmtest.Script(steps...), Dir: top, Permissions: bypass, Sessions: store,
			Tools: []tool.Tool{tools.Read(ws), tools.Edit(ws), tools.Bash(ws), tools.EnterWorktree(ws), tools.ExitWorktree(ws)}}
		s := a.Session("s")
		defer s.Close()
		if res, err := s.Prompt(t.Context(), prompt); err != nil || res.Reason != event.Completed {
			t.Fatalf("%+v, %v", res, err)
		}
		return results(a.Model)
	}
	use := func(name string, input map[string]any) llmtest.Step {
		return llmtest.Call(llmtest.Use("", name, input))
	}
	tree := filepath.Join(top, ".openagent", "worktrees", "x")
	got := run("go",
		use("Bash", map[string]any{"command": "pwd"}),
		llmtest.Call(llmtest.Use("", "EnterWorktree", map[string]any{"name": "x"}), llmtest.Use("", "Bash", map[string]any{"command": "pwd"})),
		use("Read", map[string]any{"file_path": "a.txt"}),
		use("Edit", map[string]any{"file_path": "a.txt", "old_string": "one", "new_string": "two"}),
		use("Bash", map[string]any{"command": "git status --porcelain"}),
		say("done"))
	if strings.TrimSpace(got[0]) != top || strings.TrimSpace(got[2]) != tree || !strings.Contains(got[4], tree) || strings.TrimSpace(got[5]) != "M a.txt" {
		t.Errorf("in the worktree: %q", got)
	}
	for path, want := range map[string]string{filepath.Join(top, "a.txt"): "one\n", filepath.Join(tree, "a.txt"): "two\n"} {
		if data, err := os.ReadFile(path); string(data) != want {
			t.Errorf("%s holds %q, %v", path, data, err)
		}
	}
	got = run("go on",
		use("Bash", map[string]any{"command": "pwd"}),
		use("Edit", map[string]any{"file_path": "a.txt", "old_string": "two", "new_string": "three"}),
		use("ExitWorktree", map[string]any{"action": "remove"}),
		use("ExitWorktree", map[string]any{"action": "remove", "discard": true}),
		use("Bash", map[string]any{"command": "pwd"}),
		say("done"))
	got = got[len(got)-5:]
	if strings.TrimSpace(got[0]) != tree || !strings.Contains(got[1], "Edited") || !strings.Contains(got[2], "M a.txt") || !strings.Contains(got[3], "Removed") || strings.TrimSpace(got[4]) != top {
		t.Errorf("in the resumed session: %q", got)
	}
	if _, err := os.Stat(tree); !os.IsNotExist(err) {
		t.Errorf("the worktree is still there: %v", err)
	}
}

// Where the host permits no other mode an approved plan does not lift plan mode, and
// the model reads why.
func TestPlanModeThatStays(t *testing.T) {
	var asked []string
	a, writes := planned(permission.Plan, person(permission.Allow(), &asked), exitPlan(), uses("write"), say("done"))
	a.AllowModeChange = func(mode permission.Mode) error {
		if mode != permission.Plan {
			return errors.New("managed.json:3 allows no mode beyond plan")
		}
		return nil
	}
	s := a.Session("s")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	got := results(a.Model)
	if !strings.Contains(got[0], "stays plan") || !strings.Contains(got[0], "managed.json:3") || !strings.Contains(got[1], "Permission denied") || *writes != 0 {
		t.Errorf("%d writes; the model read %q", *writes, got)
	}
}
