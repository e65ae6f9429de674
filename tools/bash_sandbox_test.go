package tools_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// box is a sandbox with a given description.
type box struct{ mayLeave bool }

func (box) Outside(line, _ string) bool { return strings.HasPrefix(line, "docker ") }
func (b box) MayLeave() bool            { return b.mayLeave }
func (box) Note() string                { return "Commands run in a box." }

// marked is a workspace whose confined commands can tell that they are.
func marked(t *testing.T) *workspace.Workspace {
	ws := &workspace.Workspace{Root: t.TempDir(), Confine: func(cmd *exec.Cmd, _ string, _ ...string) (func() (int, bool), error) {
		cmd.Env = append(cmd.Env, "IN=box")
		return func() (int, bool) { return 0, false }, nil
	}}
	t.Cleanup(func() { ws.Close() })
	return ws
}

func TestBashSandbox(t *testing.T) {
	plain := &workspace.Workspace{Root: t.TempDir()}
	t.Cleanup(func() { plain.Close() })
	for _, tt := range []struct {
		name     string
		tool     tool.Tool
		input    string
		confined bool
		asks     bool
		output   string // "" where the input is refused
	}{
		{"no sandbox", tools.Bash(plain), `{"command":"echo in:$IN"}`, false, false, "in:"},
		{"a sandbox that the shell does not have", tools.Bash(plain, box{}), `{"command":"echo in:$IN"}`, false, false, "in:"},
		{"confined", tools.Bash(marked(t), box{}), `{"command":"echo in:$IN"}`, true, false, "in:box"},
		{"excluded", tools.Bash(marked(t), box{}), `{"command":"docker 2>/dev/null; echo in:$IN"}`, false, false, "in:"},
		{"leaving is not offered", tools.Bash(marked(t), box{}), `{"command":"echo in:$IN","dangerouslyDisableSandbox":true}`, true, false, ""},
		{"leaving", tools.Bash(marked(t), box{mayLeave: true}), `{"command":"echo in:$IN","dangerouslyDisableSandbox":true}`, false, true, "in:"},
		{"not leaving", tools.Bash(marked(t), box{mayLeave: true}), `{"command":"echo in:$IN","dangerouslyDisableSandbox":false}`, true, false, "in:box"},
	} {
		call := tool.Call{ID: "c1.0", Name: "Bash", Session: tt.name, Input: json.RawMessage(tt.input)}
		if v, ok := tt.tool.(toolrun.Validator); ok && v.Validate(call) != nil {
			if tt.output != "" {
				t.Errorf("%s: %v", tt.name, v.Validate(call))
			}
			continue
		}
		c := toolrun.Classify(tt.tool, call)
		if c.Confined != tt.confined || (c.ConfirmReason != "") != tt.asks {
			t.Errorf("%s: confined %v, asks %q", tt.name, c.Confined, c.ConfirmReason)
		}
		res, err := tt.tool.Run(context.Background(), call)
		if err != nil || strings.TrimSpace(res.Text()) != tt.output {
			t.Errorf("%s: %v %v, want %q", tt.name, res, err, tt.output)
		}
	}
	if s := tools.Bash(marked(t), box{}).Spec(); !strings.Contains(s.Description, "Commands run in a box.") || strings.Contains(string(s.Input), "dangerously") {
		t.Errorf("%s %s", s.Description, s.Input)
	}
	if s := tools.Bash(marked(t), box{mayLeave: true}).Spec(); !strings.Contains(string(s.Input), "dangerouslyDisableSandbox") {
		t.Errorf("%s", s.Input)
	}
	if s := tools.Bash(plain).Spec(); strings.Contains(s.Description, "box") || strings.Contains(string(s.Input), "dangerously") {
		t.Errorf("%s %s", s.Description, s.Input)
	}
}
