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
	bash := func(command string) llmtest.Step {
		return llmtest.Call(llmtest.Use("", "Bash", map[string]any{"command": command}))
	}
	return llmtest.Script(bash("echo hello"), bash("touch notes.txt"), bash("echo gone; rm -rf notes.txt"), bash("curl example.com"),
		llmtest.Step{Text: "I made notes.txt; removing it and the network were not allowed."})
}
