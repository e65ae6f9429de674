package demo

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// teamFiles are what the agents of the scenario team look at, one each.
var teamFiles = []string{"cart.sh", "test.sh", "ledger.sh", "flood.sh", "hang.sh", "orders.csv"}

// newTeam makes the scenario team: six agents at work at once.
func newTeam(c *demoCall, temp string) (*showing, error) {
	ws := &workspace.Workspace{Root: temp}
	for _, name := range teamFiles {
		data, err := demoFiles.ReadFile("demo/" + name)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(ws.Root, name), data, 0o600); err != nil {
			return nil, fmt.Errorf("writing the demo's files: %w", err)
		}
	}
	fate := "(removed at the end; --keep keeps it)"
	if c.keep {
		fate = "(kept)"
	}
	return &showing{
		title: "team", place: ws.Root + " " + fate, workspace: ws,
		task:   "How long are the files here? Have an agent look at each.",
		tools:  []tool.Tool{tools.Read(ws), tools.Bash(ws), tools.Agent(new(subagent.Manager))},
		answer: answerTeam,
		next: [3]demoStep{
			{"openagent demo fix", "fixes a program, with two sub-agents that look things up"},
			{"openagent agents", "lists the agents that can be put to work here"},
			{"openagent agents new reviewer", "writes the file of one to begin with"},
		},
	}, nil
}

// answerTeam is the model of the scenario team, and of its agents.
func answerTeam(t *conversation) llmtest.Step {
	switch {
	case t.subagent:
		return t.lookUp()
	case !t.has(counter(0)):
		var calls []llm.ToolUse
		for i, name := range teamFiles {
			calls = append(calls, explorer(counter(i), name, "count "+name, "wc -l "+name))
		}
		return llmtest.Step{Text: "Six agents, one for each file, at once.", Calls: calls}
	}
	var b strings.Builder
	sum := 0
	for i, name := range teamFiles {
		first, _, _ := strings.Cut(strings.TrimSpace(t.output(counter(i))), " ")
		n, err := strconv.Atoi(first)
		if err != nil {
			return llmtest.Say("The agent for " + name + " has no number: " + text.FirstLine(t.text(counter(i))))
		}
		sum += n
		fmt.Fprintf(&b, "  %-12s%4d lines\n", name, n)
	}
	return llmtest.Say("What the agents report:\n" + b.String() + fmt.Sprintf("  %-12s%4d lines", "in all", sum))
}

// counter is the id of the call that starts the agent for a file.
func counter(i int) string { return "count" + strconv.Itoa(i) }
