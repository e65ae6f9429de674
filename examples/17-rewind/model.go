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
	shell := func(command string) llmtest.Step {
		return llmtest.Call(llmtest.Use("", "Bash", map[string]string{"command": command}))
	}
	return llmtest.Script(
		shell("echo draft > notes.txt"), llmtest.Step{Text: "There are notes."},
		shell("rm notes.txt; mkdir notes; echo one > notes/1.txt"), llmtest.Step{Text: "The notes are a folder now."})
}
