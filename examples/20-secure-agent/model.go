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
	use := func(tool string, input map[string]string) llmtest.Step {
		return llmtest.Call(llmtest.Use("", tool, input))
	}
	return llmtest.Script(
		use("Read", map[string]string{"file_path": "main.go"}),
		use("Write", map[string]string{"file_path": "main.go", "content": "gone"}), // denied by the read-only policy alone
		use("Bash", map[string]string{"command": "cat main.go"}),                   // by the deny list alone
		use("Read", map[string]string{"file_path": "private/plan.txt"}),            // by the sandbox alone
		llmtest.Step{Text: "It is a Go program; I may only read."},
		use("Write", map[string]string{"file_path": "new.go", "content": "package main"}),
		llmtest.Step{Text: "I still may only read."})
}
