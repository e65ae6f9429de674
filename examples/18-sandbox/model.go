package main

import (
	"os"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
)

// model returns Claude if ANTHROPIC_API_KEY is set. Otherwise it plays the answers below.
func model(dir string, outside string) llm.Model {
	if os.Getenv("ANTHROPIC_API_KEY") != "" {
		return anthropic.Model("claude-sonnet-4-6")
	}
	bash := func(command string) llmtest.Step {
		return llmtest.Call(llmtest.Use("", "Bash", map[string]string{"command": command}))
	}
	return llmtest.Script(
		bash("echo mine > notes.txt && cat notes.txt"),
		bash("echo theirs > "+outside),                       // not in the project
		bash(`f=$(echo `+dir+`/sec*/key); cat "$f"`),         // no rule sees where this leads
		bash("exec 3<>/dev/tcp/127.0.0.1/80; echo open >&3"), // there is no network
		llmtest.Step{Text: "I wrote notes.txt. The rest is closed to me."})
}
