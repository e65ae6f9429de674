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
	write := func(name, text string) llmtest.Step {
		return llmtest.Call(llmtest.Use("", "Write", map[string]string{"file_path": name, "content": text}))
	}
	return llmtest.Script(
		write("secrets/key", "mine"), write("main.txt", "hello"),
		llmtest.Step{Text: "Done."},
		llmtest.Call(llmtest.Use("", "Bash", map[string]string{"command": "test -s main.txt"})),
		llmtest.Step{Text: "Done, and tested."})
}
