package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// An agent whose rules protect its tests runs and reads them in a sandbox, and cannot
// change them. Its sub-agents are no different. In plan mode the command waits, and without
// a sandbox a person is asked.
func TestProtectedTests(t *testing.T) {
	dir := paths.RealPath(t.TempDir())
	script := filepath.Join(dir, "tests", "run.sh")
	if err := os.MkdirAll(filepath.Dir(script), 0o700); err != nil {
		t.Fatal(err)
	}
	const text = "echo RAN; echo broken >> tests/run.sh"
	deny := []permission.Rule{"Edit(/tests/**)"}
	ask := func(enabled, child bool, policy permission.Policy, decide agent.CanUseToolFunc) string {
		if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		box, err := sandbox.New(sandbox.Settings{Enabled: enabled, AllowUnconfined: true, AutoAllowBash: true}, sandbox.Place{Dir: dir, Deny: deny})
		if err != nil {
			t.Fatal(err)
		}
		defer box.Close()
		if enabled && box.State().Lacks != nil || enabled && box.Confiner() == nil {
			t.Skipf("nothing confines all of it here: %+v", box.State())
		}
		ws := &workspace.Workspace{Root: dir, Confine: box.Confiner()}
		defer ws.Close()
		var bash tool.Tool = tools.Bash(ws)
		if enabled {
			bash = tools.Bash(ws, box)
		}
		policy.Deny, policy.AllowConfined = deny, box.AutoAllow()
		m := llmtest.Script(llmtest.Call(llmtest.Use("b", "Bash", map[string]string{"command": "bash tests/run.sh"})), say("end"))
		a := &agent.Agent{Model: m, Dir: dir, Tools: []tool.Tool{bash}, Permissions: policy, Deciders: []permission.Decider{box}, CanUseTool: decide}
		if child {
			helper := &agent.Agent{Name: "helper", Model: m, Tools: []tool.Tool{bash}}
			a.Tools = []tool.Tool{tool.New(tool.Spec{Name: "delegate"}, func(ctx context.Context, call tool.Call, _ number) (*tool.Result, error) {
				p, _ := agent.ParentOf(ctx)
				_, err := p.Run(ctx, agent.Child{Agent: helper, Call: call.ID, Input: agent.Input{Text: "go"}})
				return tool.Text("ended"), err
			}).OnClassify(func(tool.Call, number) tool.Traits { return tool.Traits{RunsSubagents: true} })}
			a.Model = llmtest.Script(delegates(1), say("end"))
		}
		if _, err := a.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		last := m.Requests()[1].Messages
		return last[len(last)-1].Content[0].(llm.ToolResult).Content.Text()
	}
	unchanged := func(name string) {
		t.Helper()
		if got, err := os.ReadFile(script); err != nil || string(got) != text {
			t.Errorf("%s: the script is now %q, %v", name, got, err)
		}
	}
	for name, policy := range map[string]permission.Policy{"default": {}, "auto": {Mode: permission.Auto}, "dontAsk": {Mode: permission.DontAsk}, "bypass": {Mode: permission.Bypass}} {
		for _, child := range []bool{false, true} {
			got := ask(true, child, policy, nil)
			if !strings.Contains(got, "RAN") {
				t.Errorf("%s, sub-agent %t: %s", name, child, got)
			}
			unchanged(name)
		}
	}
	if got := ask(true, false, permission.Policy{Mode: permission.Plan}, nil); strings.Contains(got, "RAN") {
		t.Errorf("in plan mode: %s", got)
	}
	for name, policy := range map[string]permission.Policy{"default": {Allow: []permission.Rule{"Bash"}}, "bypass": {Mode: permission.Bypass}} {
		if got := ask(false, false, policy, nil); strings.Contains(got, "RAN") || !strings.Contains(got, "no sandbox holds it") {
			t.Errorf("without a sandbox, %s: %s", name, got)
		}
	}
	asked := ""
	got := ask(false, false, permission.Policy{Allow: []permission.Rule{"Bash"}}, func(_ context.Context, _ tool.Call, verdict permission.Decision) (permission.Decision, error) {
		asked = verdict.Reason
		return permission.Allow(), nil
	})
	if !strings.Contains(got, "RAN") || !strings.Contains(asked, "may still write there") {
		t.Errorf("allowed by a person: %s, after %q", got, asked)
	}
}
