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
		llmtest.Say("The total is 7.80 at Corner Bakery."),                                                                         // no JSON: corrected
		llmtest.Call(llmtest.Use("", "StructuredOutput", map[string]any{"shop": "Corner Bakery", "items": []any{}, "total": 7.8})), // no cents: corrected
		llmtest.Call(llmtest.Use("", "StructuredOutput", map[string]any{"shop": "Corner Bakery", "total": 780, "items": []Item{{"Rye bread", 420}, {"Croissants", 360}}})),
	)
}
