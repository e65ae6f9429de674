package main

import (
	"fmt"
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
	return llmtest.Script(reads(300), reads(2100), reads(3900), // old chapters are cleared here
		reads(2400), reads(3400), // and here
		llmtest.Step{Text: "Five days of ships, counted by their keeper, one day like the other.", Usage: llm.Usage{Input: 2800, Output: 20}},
		llmtest.Say("<memory>\n- decision: ships are counted by day\n</memory>\n<summary>The book is read: a lighthouse keeper counts the ships of five days.</summary>"),
		llmtest.Say("The lighthouse keeper."))
}

// reads is a call for the next chapter; the request for it has so many tokens.
func reads(tokens int) llmtest.Step {
	next++
	s := llmtest.Call(llmtest.Use(fmt.Sprint("read-", next), "read_chapter", chapter{next}))
	s.Usage = llm.Usage{Input: tokens, Output: 20}
	return s
}

var next int
