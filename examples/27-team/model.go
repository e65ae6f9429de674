package main

import (
	"os"
	"strings"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
)

// model returns Claude if ANTHROPIC_API_KEY is set. Otherwise it plays the leader and both members.
func model() llm.Model {
	if os.Getenv("ANTHROPIC_API_KEY") != "" {
		return anthropic.Model("claude-sonnet-4-6")
	}
	use := func(tool string, in map[string]any) llmtest.Step { return llmtest.Call(llmtest.Use("", tool, in)) }
	member := func(name, prompt string) llmtest.Step {
		return use("Agent", map[string]any{"name": name, "team_name": "greeting", "description": "The " + name, "prompt": prompt, "subagent_type": "general-purpose"})
	}
	say := func(text string) llmtest.Step { return llmtest.Step{Text: text} }
	lead := func(r *llmtest.Request, _ int) llmtest.Step {
		seen := func(text string) bool { return strings.Contains(r.Transcript(), text) }
		switch {
		case !seen("Team created"):
			return use("TeamCreate", map[string]any{"name": "greeting", "members": []string{"builder", "tester"}})
		case !seen("Wait for the builder's"):
			return member("tester", "Wait for the builder's message, then test.")
		case seen("I wait.") && !seen("Write the greeting into"):
			return member("builder", "Write the greeting into hello.txt, then tell the tester.")
		case !seen("The greeting is right."):
			return say("They are at it.") // what they come to is told
		}
		return say("The greeting is written and tested.")
	}
	return &llmtest.Model{Rule: llmtest.Cast(map[string]llmtest.Rule{
		"Have the greeting":    lead,
		"Wait for the builder": llmtest.Steps(say("I wait."), use("Read", map[string]any{"file_path": "hello.txt"}), say("The greeting is right.")),
		"Write the greeting": llmtest.Steps(use("Write", map[string]any{"file_path": "hello.txt", "content": "hello\n"}),
			use("SendMessage", map[string]any{"to": "tester", "message": "hello.txt is there, please test"}), say("The greeting is written.")),
	})}
}
