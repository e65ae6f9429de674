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
	use := func(command string) llmtest.Step {
		return llmtest.Call(llmtest.Use("", "Bash", map[string]string{"command": command}))
	}
	return llmtest.Script(
		use("wc -l poem.txt"), use("rm poem.txt"), llmtest.Step{Text: "It has 3 lines."}, // with the skill
		use("rm poem.txt"), llmtest.Step{Text: "It is gone."}) // without
}
