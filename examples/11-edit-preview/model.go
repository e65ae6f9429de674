package main

import (
	"os"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
)

// model returns Claude if ANTHROPIC_API_KEY is set. Otherwise it plays the answers below.
func model(edit llmtest.Step) llm.Model {
	if os.Getenv("ANTHROPIC_API_KEY") != "" {
		return anthropic.Model("claude-sonnet-4-6")
	}
	return llmtest.Script(
		llmtest.Call(llmtest.Use("", "Read", map[string]string{"file_path": "song.txt"})),
		edit,
		llmtest.Step{Text: "The song is complete."})
}
