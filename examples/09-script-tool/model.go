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
		llmtest.Call(
			llmtest.Use("", "tides", map[string]string{"port": "Brest"}),
			llmtest.Use("", "tides", map[string]string{"port": "Bern"})),
		llmtest.Step{Text: "At Brest the tide is high at 06:12 and 18:31; Bern has none."})
}
