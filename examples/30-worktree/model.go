package main

import (
	"os"
	"strings"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
)

// model returns Claude if ANTHROPIC_API_KEY is set. Otherwise it plays both agents.
func model() llm.Model {
	if os.Getenv("ANTHROPIC_API_KEY") != "" {
		return anthropic.Model("claude-sonnet-4-6")
	}
	use := func(tool string, in map[string]string) llmtest.Step { return llmtest.Call(llmtest.Use("", tool, in)) }
	return &llmtest.Model{Rule: llmtest.Cast(map[string]llmtest.Rule{
		"Have the greeting": func(r *llmtest.Request, _ int) llmtest.Step {
			if len(r.Results()) == 0 {
				return use("Agent", map[string]string{"subagent_type": "general-purpose", "description": "Friendlier greeting", "isolation": "worktree",
					"prompt": "Make the greeting in hello.txt friendlier."})
			}
			for line := range strings.Lines(r.Results()[0].Text) {
				if strings.Contains(line, "hello.txt |") {
					return llmtest.Step{Text: "The agent has changed:" + strings.TrimRight(line, "\n")}
				}
			}
			return llmtest.Step{Text: r.Results()[0].Text}
		},
		"Make the greeting": llmtest.Steps(use("Read", map[string]string{"file_path": "hello.txt"}),
			use("Edit", map[string]string{"file_path": "hello.txt", "old_string": "hello", "new_string": "hello, dear reader"}), llmtest.Step{Text: "Done."}),
	})}
}
