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
		llmtest.Step{Text: "Noted: shopping."},
		llmtest.Step{Text: "Noted: the trip goes to Lisbon."},
		llmtest.Step{Text: "Then it goes to Porto."},
		llmtest.Step{Text: "It goes to Lisbon."})
}
