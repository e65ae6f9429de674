package main

import (
	"os"
	"time"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
)

// model returns Claude if ANTHROPIC_API_KEY is set. Otherwise it plays the answers below.
func model() llm.Model {
	if os.Getenv("ANTHROPIC_API_KEY") != "" {
		return anthropic.Model("claude-sonnet-4-6")
	}
	step := llmtest.Step{Text: "The page and the service were away. The answer was not.", EventDelay: 30 * time.Millisecond}
	return llmtest.Script(step, step) // the restart repeats the call
}
