package main

import (
	"os"
	"strings"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
)

// model returns Claude if ANTHROPIC_API_KEY is set. Otherwise a rule answers.
func model() llm.Model {
	if os.Getenv("ANTHROPIC_API_KEY") != "" {
		return anthropic.Model("claude-sonnet-4-6")
	}
	m := llmtest.Script()
	m.Rule = func(r *llmtest.Request, _ int) llmtest.Step {
		city, country := "Paris", "France"
		if strings.Contains(r.Prompt(), "Japan") {
			city, country = "Tokyo", "Japan"
		}
		if strings.Contains(r.System, "five words") {
			return llmtest.Say("It is " + city + ".")
		}
		return llmtest.Say("The capital of " + country + " is the beautiful city of " + city + ".")
	}
	return m
}
