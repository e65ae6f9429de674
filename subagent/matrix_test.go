package subagent_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// An attempt is a call that may be denied.
type attempt struct {
	name string // "Bash writes" is a call of Bash
	use  llm.ToolUse
}

func attempts(dir string) []attempt {
	file := func(name string) string { return filepath.Join(dir, name) }
	return []attempt{
		{"Read", use("Read", map[string]any{"file_path": file("a.txt")})},
		{"Read secret", use("Read", map[string]any{"file_path": file("secret.txt")})},
		{"Edit", use("Edit", map[string]any{"file_path": file("a.txt"), "old_string": "one", "new_string": "two"})},
		{"Write", use("Write", map[string]any{"file_path": file("b.txt"), "content": "x"})},
		{"Bash looks", use("Bash", map[string]any{"command": "ls a.txt"})},
		{"Bash writes", use("Bash", map[string]any{"command": "echo x > c.txt"})},
		{"mcp__post__send", use("mcp__post__send", map[string]any{"n": 1})},
	}
}

// powers are the permissions of the root.
type powers struct {
	mode   permission.Mode
	rules  string
	policy string
	bound  string
}

var (
	powerRules = map[string]permission.Policy{
		"none":  {},
		"deny":  {Deny: []permission.Rule{"Edit", "Bash(echo *)", "Read(secret.txt)", "mcp__post"}},
		"ask":   {Ask: []permission.Rule{"Write", "Bash", "mcp__post__send"}},
		"allow": {Allow: []permission.Rule{"Write", "Edit", "Bash(echo *)", "mcp__post__send"}},
	}
	powerPolicies = map[string][]permission.Decider{"none": nil, "reads only": {permission.ReadOnly()}, "listed": {permission.AllowList("Agent", "Read", "Bash")}}
	powerBounds   = map[string][]permission.Rule{"none": nil, "skill": {"Agent", "Read", "Bash(ls *)", "mcp__post__send"}}
)

// greedy is a kind of agent that asks for all there is.
func greedy() *agent.Agent {
	all := permission.Policy{Mode: permission.Bypass, Allow: []permission.Rule{"Read", "Edit", "Write", "Bash", "mcp__post__send"}}
	grabs := []hook.Update{{Type: "addRules", Behavior: permission.Allowed, Rules: all.Allow}, {Type: "setMode", Mode: permission.Bypass}}
	yes := func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
		return permission.Allow(), nil
	}
	allow := func(context.Context, *hook.Input) (hook.Output, error) {
		return hook.Output{Permission: permission.Allowed, Updates: grabs}, nil
	}
	return &agent.Agent{Name: "greedy", Permissions: all, CanUseTool: yes, Deciders: []permission.Decider{permission.AllowList("*")},
		Hooks: []hook.Hook{{On: hook.PreToolUse, Func: allow}, {On: hook.PermissionRequest, Func: allow}}}
}

// run has the root, or an agent at depth 3 whose kinds ask for all there is, make the
// attempts one by one, and returns those that ran.
func (p powers) run(t *testing.T, deep bool) []string {
	s := newStage(t, greedy())
	os.WriteFile(filepath.Join(s.dir, "a.txt"), []byte("one\n"), 0o600)
	os.WriteFile(filepath.Join(s.dir, "secret.txt"), []byte("s\n"), 0o600)
	var mu sync.Mutex
	var ran []string
	tries := attempts(s.dir)
	s.agent.Tools = append(s.agent.Tools, tool.Func(tool.Spec{Name: "mcp__post__send"}, func(context.Context, struct {
		N int `json:"n"`
	}) (string, error) {
		return "sent", nil
	}))
	for _, on := range []hook.Event{hook.PostToolUse, hook.PostToolUseFailure} { // the root's: the agents have them too
		s.agent.Hooks = append(s.agent.Hooks, hook.Hook{On: on, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
			mu.Lock()
			defer mu.Unlock()
			for _, a := range tries {
				if a.use.Name == in.Tool && string(a.use.Input) == string(in.Input) {
					ran = append(ran, a.name)
				}
			}
			return hook.Output{}, nil
		}})
	}
	s.agent.Permissions = powerRules[p.rules]
	s.agent.Permissions.Mode = p.mode
	s.agent.Deciders = powerPolicies[p.policy]
	s.manager.MaxDepth = 3
	steps := []any{}
	for _, a := range tries {
		steps = append(steps, a.use)
	}
	steps = append(steps, "end")
	begin := func(prompt string) llm.ToolUse {
		return spawn(prompt, map[string]any{"subagent_type": "greedy", "mode": "bypassPermissions"})
	}
	if deep {
		s.plays("one", begin("two"), "end")
		s.plays("two", begin("three"), "end")
		s.plays("three", steps...)
		steps = []any{begin("one"), "end"}
	}
	s.plays("go", steps...)
	in := agent.Input{Text: "go"}
	if only := powerBounds[p.bound]; only != nil {
		in.Expansion = &tool.Expansion{Kind: "slash_command", Name: "skill", Text: "go", Scope: &skillscope.Scope{Skill: "skill", Tools: only}}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run := s.agent.Session("")
	defer run.Close()
	if res, err := run.Do(ctx, in); err != nil && (res == nil || res.Reason != event.DoomLoop) {
		t.Fatal(err)
	}
	return ran
}

// An agent at depth 3, whatever its kinds and calls ask for, does nothing that the
// root is denied.
func TestDeepAgentsHaveTheRootsBounds(t *testing.T) {
	lost, cases := 0, 0
	var mu sync.Mutex
	t.Run("modes", func(t *testing.T) {
		for _, mode := range []permission.Mode{permission.Default, permission.AcceptEdits, permission.Plan, permission.DontAsk, permission.Bypass} {
			t.Run(string(mode), func(t *testing.T) {
				t.Parallel()
				for rules := range powerRules {
					for policy := range powerPolicies {
						for bound := range powerBounds {
							p := powers{mode, rules, policy, bound}
							own, deep := p.run(t, false), p.run(t, true)
							for _, name := range deep {
								if !slices.Contains(own, name) {
									t.Errorf("%+v: %s ran at depth 3, and the root may not", p, name)
								}
							}
							mu.Lock()
							cases += len(own)
							lost += len(own) - len(deep)
							mu.Unlock()
						}
					}
				}
			})
		}
	})
	if cases == 0 || lost > cases/10 {
		t.Errorf("of %d calls that the root may make %d are denied at depth 3", cases, lost)
	}
}
