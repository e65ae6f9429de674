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
	ask := func(operation, name string) llmtest.Step {
		return llmtest.Call(llmtest.Use("", "LSP", map[string]any{"operation": operation, "file_path": "sum.go", "line": 3, "query": name}))
	}
	return llmtest.Script(ask("goToDefinition", "Circle"), ask("findReferences", "Square"),
		llmtest.Step{Text: "Circle is declared in circle.go, and sum.go makes use of Square."})
}
