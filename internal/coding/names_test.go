//go:build unix

package coding_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/coding"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/tool"
)

// Misspelt names of tools in definitions and skills are told when the agent is built. Names of the
// program's own tools, of tools it did not choose and of MCP servers are right.
func TestMisspeltNames(t *testing.T) {
	dir, user := t.TempDir(), home(t)
	for name, text := range map[string]string{
		".openagent/agents/wrong.md":    "---\nname: wrong\ndescription: x\ndisallowedTools: Bsah\n---\nx\n",
		".openagent/agents/right.md":    "---\nname: right\ndescription: x\ndisallowedTools: Bash, deploy, mcp__a__b\n---\nx\n",
		".claude/skills/wrong/SKILL.md": "---\nname: wrong\ndescription: x\nallowed-tools: Raed\n---\nx\n",
		".claude/skills/right/SKILL.md": "---\nname: right\ndescription: x\nallowed-tools: Read, deploy\n---\nx\n",
	} {
		path := filepath.Join(user, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var told []string
	c, err := coding.New(t.Context(), coding.Options{
		Dir: dir, Sandbox: coding.Off, Tools: []string{"Read"},
		Agent: agent.Agent{Model: llmtest.Script(), Tools: []tool.Tool{tool.Func(tool.Spec{Name: "deploy"}, func(context.Context, struct{}) (string, error) { return "", nil })}},
		Warn:  func(p coding.Part, err error) { told = append(told, string(p)+": "+err.Error()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	text := strings.Join(told, "\n")
	if len(told) != 2 || !strings.Contains(text, "agents: the agent wrong of ") || !strings.Contains(text, "did you mean Bash?") ||
		!strings.Contains(text, "skills: the restriction by the skill wrong of ") || !strings.Contains(text, "did you mean Read?") {
		t.Errorf("%d warnings:\n%s", len(told), text)
	}
}
