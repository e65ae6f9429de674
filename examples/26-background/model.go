package main

import (
	"os"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
)

// model returns Claude if ANTHROPIC_API_KEY is set. Otherwise it plays both agents.
func model() llm.Model {
	if os.Getenv("ANTHROPIC_API_KEY") != "" {
		return anthropic.Model("claude-sonnet-4-6")
	}
	start := llmtest.Call(llmtest.Use("", "Agent", map[string]any{"subagent_type": "general-purpose", "description": "Slow check",
		"prompt": "Run the slow check: sleep 1", "run_in_background": true}))
	sleep := llmtest.Call(llmtest.Use("", "Bash", map[string]string{"command": "sleep 1"}))
	return &llmtest.Model{Rule: llmtest.Cast(map[string]llmtest.Rule{
		"Run the slow check, and": llmtest.Steps(start, say("The check runs. A goroutine walks into a bar and blocks."), say("It has passed.")),
		"Run the slow check: ":    llmtest.Steps(sleep, say("The check has passed.")),
	})}
}

func say(text string) llmtest.Step { return llmtest.Step{Text: text} }
