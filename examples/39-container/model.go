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
		llmtest.Call(llmtest.Use("", "Write", map[string]string{"file_path": "greet.sh", "content": "echo \"hello, $1\"\n"})),
		llmtest.Call(llmtest.Use("", "Bash", map[string]string{"command": "sh greet.sh world"})),
		llmtest.Call(llmtest.Use("", "Grep", map[string]string{"pattern": "hello", "output_mode": "content"})),
		llmtest.Step{Text: "greet.sh greets: hello, world"})
}
