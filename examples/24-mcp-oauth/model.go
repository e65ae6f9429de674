package main

import (
	"os"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
)

// model returns Claude if ANTHROPIC_API_KEY is set. Otherwise it plays the answers below.
func model() llm.Model {
	if os.Getenv("ANTHROPIC_API_KEY") != "" {
		return anthropic.Model("claude-sonnet-4-6")
	}
	return llmtest.Script(
		llmtest.Call(llmtest.Use("", "mcp__notes__read", note{"milk"})),
		llmtest.Step{Text: "Two bottles."},
		llmtest.Call(llmtest.Use("", "mcp__notes__read", note{"milk"})),
		llmtest.Step{Text: "Still two bottles."})
}
