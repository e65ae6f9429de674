package tools_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// noted is a shell that notes its input.
type noted struct {
	tools.Terminal
	lines []workspace.CommandLine
}

func (n *noted) Run(_ context.Context, l workspace.CommandLine) (*workspace.Outcome, error) {
	n.lines = append(n.lines, l)
	return &workspace.Outcome{}, nil
}

func (n *noted) StartJob(_ context.Context, l workspace.CommandLine) (string, json.RawMessage, error) {
	n.lines = append(n.lines, l)
	return "bash_1", nil, nil
}

func (n *noted) Where(workspace.CommandLine) string { return "/w" }

// The shell gets the form that was judged, in the background as well, and a line without
// one as it is.
func TestBashForm(t *testing.T) {
	for _, tt := range []struct {
		line, runs string
		bash       bool
	}{
		{"ls -la", "ls -la", false},
		{"ls # all", "ls", false},
		{"eval 'ls # all'", "eval 'ls'", false},
		{"[[ -f a ]]", "[[ -f a ]]", true},
		{"a=()# b", "a=()# b", false},
	} {
		for _, background := range []bool{false, true} {
			shell := &noted{}
			input, err := json.Marshal(map[string]any{"command": tt.line, "run_in_background": background})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tools.Bash(shell).Run(t.Context(), tool.Call{ID: "c", Name: "Bash", Session: "s", Input: input}); err != nil {
				t.Fatal(err)
			}
			if l := shell.lines; len(l) != 1 || l[0].Command != tt.runs || l[0].Bash != tt.bash {
				t.Errorf("%q, background %v: the shell gets %+v, want %q", tt.line, background, l, tt.runs)
			}
		}
	}
}
