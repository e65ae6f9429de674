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
	job := func(name, what, text string) llmtest.Step {
		return llmtest.Call(llmtest.Use("", "CronCreate", map[string]string{"name": name, "schedule": "@every 1s", what: text}))
	}
	return llmtest.Script(
		job("greeting", "prompt", "Say hello."), job("stock", "command", "ls | wc -l"), job("tidy", "command", "rm -rf ."),
		llmtest.Step{Text: "Greeting, stock-taking and tidying are scheduled, each every second."},
		llmtest.Step{Text: "Hello!"})
}
