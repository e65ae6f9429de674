package main

import (
	"os"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
)

// model returns Claude if ANTHROPIC_API_KEY is set. Otherwise it plays the coordinator and both agents.
func model() llm.Model {
	if os.Getenv("ANTHROPIC_API_KEY") != "" {
		return anthropic.Model("claude-sonnet-4-6")
	}
	explore := func(what, file string) llmtest.Step {
		return llmtest.Call(llmtest.Use("", "Agent", map[string]string{"subagent_type": "Explore", "name": what, "description": "Look at the " + what,
			"prompt": "What does the " + what + " do? Look at " + file + " and answer in a sentence."}))
	}
	both := explore("server", "server.go")
	both.Calls = append(both.Calls, explore("client", "client.go").Calls...)
	read := func(file string) llmtest.Step {
		return llmtest.Call(llmtest.Use("", "Read", map[string]string{"file_path": file}))
	}
	return &llmtest.Model{Rule: llmtest.Cast(map[string]llmtest.Rule{
		"What do the server":       llmtest.Steps(both, llmtest.Step{Text: "The server listens on 8080; the client tries 3 times."}),
		"What does the server do?": llmtest.Steps(read("server.go"), llmtest.Step{Text: "It listens on 8080."}),
		"What does the client do?": llmtest.Steps(read("client.go"), llmtest.Step{Text: "It tries 3 times."}),
	})}
}
