package llm_test

import (
	"context"
	"fmt"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
)

// Collect asks a model one thing, without an agent.
func ExampleCollect() {
	m := llmtest.Script(llmtest.Say("Paris.")) // anthropic.Model("claude-sonnet-4-6") in your program
	res, err := llm.Collect(context.Background(), m, &llm.Request{
		System:   "Answer with one word.",
		Messages: []llm.Message{llm.UserText("What is the capital of France?")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Message.Content.Text(), res.Stop)
	// Output:
	// Paris. end_turn
}
