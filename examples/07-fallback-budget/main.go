// Fallback-budget switches to another model if the first stays unavailable, and limits the cost of
// a prompt.
//
// Run it with: go run ./examples/07-fallback-budget
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/tool"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	busy := &llm.APIError{Class: llm.Overloaded, Status: 529, Message: "overloaded", RetryAfter: -1}
	price := llm.Info{Price: &llm.Price{Input: 3, Output: 15}} // USD per million tokens
	first := &llmtest.Model{ID: "first", Facts: price, Steps: []llmtest.Step{llmtest.Fail(busy), llmtest.Fail(busy)}}
	second := &llmtest.Model{ID: "second", Facts: price, Rule: func(_ *llmtest.Request, n int) llmtest.Step {
		step := llmtest.Call(llmtest.Use("", "look", map[string]int{"page": n})) // it would go on for ever
		step.Usage = llm.Usage{Input: 2000, Output: 200}
		return step
	}}
	look := tool.Func(tool.Spec{Name: "look", ReadOnly: true}, func(context.Context, struct {
		Page int `json:"page"`
	}) (string, error) {
		return "nothing here", nil
	})
	a := &agent.Agent{
		Model:     first,
		Fallbacks: []llm.Model{second},
		Retry:     &agent.Retry{Tries: 1, Base: time.Millisecond},
		Budget:    agent.Budget{Turns: 50, USD: 0.05},
		Tools:     []tool.Tool{look},
	}
	for e, err := range a.Stream(ctx, "Find the page.") {
		switch d := e.Data.(type) {
		case event.ModelFailed:
			fmt.Fprintf(out, "%s failed: %s\n", d.Model, d.Class)
		case event.RunEnd:
			fmt.Fprintf(out, "%s after %d turns, $%.4f of $0.05\n", d.Reason, d.Turns, *d.CostUSD)
		}
		if err != nil && !errors.Is(err, agent.ErrLimit) {
			return err
		}
	}
	return nil
}
