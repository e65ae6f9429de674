// Package pick chooses the model of an example.
package pick

import (
	"os"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
)

// Model returns a model of Anthropic's when ANTHROPIC_API_KEY is set, else one
// that plays the given steps, so that the examples run without a key.
func Model(steps ...llmtest.Step) llm.Model {
	if os.Getenv("ANTHROPIC_API_KEY") != "" {
		return anthropic.Model("claude-sonnet-4-6")
	}
	return llmtest.Script(steps...)
}

// Cast returns a model of Anthropic's when ANTHROPIC_API_KEY is set, else one that plays
// several agents at once. See [llmtest.Cast]. Requests go through the client to a server in
// memory that refuses what Anthropic would refuse.
func Cast(parts map[string]llmtest.Rule) llm.Model {
	if os.Getenv("ANTHROPIC_API_KEY") != "" {
		return anthropic.Model("claude-sonnet-4-6")
	}
	server := &llmtest.Server{Rule: llmtest.Cast(parts)}
	return (&anthropic.Client{APIKey: "none", BaseURL: "http://llm.test", HTTP: server.Client()}).Model("claude-sonnet-4-6")
}
