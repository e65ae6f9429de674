// Cost keeps the prompt in the provider's cache and reports when the cache breaks. It shows what
// fills the context, the cost of each model, and the cost without the cache.
//
// Run it with: go run ./examples/35-cost
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	// A server in memory that counts as the provider's cache does, in place of the provider.
	server := &llmtest.Server{Cache: true, Rule: func(r *llmtest.Request, _ int) llmtest.Step {
		if len(r.Results()) == 0 {
			return llmtest.Call(llmtest.Use("", "look", map[string]int{"page": 1}))
		}
		return llmtest.Say("Nothing there.")
	}}
	defer server.Close()
	client := &anthropic.Client{APIKey: "none", HTTP: server.Client(), BaseURL: server.URL}

	look := func(how string) tool.Tool {
		return tool.Func(tool.Spec{Name: "look", ReadOnly: true, Description: how + strings.Repeat(" Pages are counted from one.", 200)}, func(context.Context, struct {
			Page int `json:"page"`
		}) (string, error) {
			return strings.Repeat("an empty line\n", 100), nil
		})
	}
	model := client.Model("claude-sonnet-4-6")
	price := llm.InfoOf(model).Price // nil if the price is not known
	if price == nil {
		return fmt.Errorf("%s has no price", model.Name())
	}
	a := &agent.Agent{Model: model, Tools: []tool.Tool{look("Looks at a page.")}, Sessions: session.Memory(),
		Cache: llm.Cache{TTL: time.Hour}} // people think between prompts
	s := a.Session("")
	defer s.Close()
	cost, withoutCache := 0.0, 0.0
	models, calls := map[string]float64{}, map[string]int{}
	for i, prompt := range []string{"Look at page 1.", "Look again.", "And again."} {
		if i == 2 { // a description that changes costs the whole conversation once
			if err := s.ReplaceTool(ctx, look("Looks at one page.")); err != nil {
				return err
			}
		}
		for e, err := range s.Stream(ctx, prompt) {
			if err != nil {
				return err
			}
			switch d := e.Data.(type) {
			case event.AssistantMessage:
				u := d.Response.Usage
				withoutCache += price.Cost(llm.Usage{Input: u.Context(), Output: u.Output})
				fmt.Fprintf(out, "%5d tokens in, %5d of them from the cache\n", u.Context(), u.CacheRead)
			case event.CacheBroken:
				fmt.Fprintf(out, "the cache was broken: %s\n", d.Text)
			}
		}
		res := s.Result() // of this prompt, sub-agents and summaries included
		cost += *res.CostUSD
		for name, spent := range res.Models {
			models[name] += *spent.CostUSD
		}
		for name, use := range res.Tools {
			calls[name] += use.Calls
		}
	}

	usage, err := s.ContextUsage(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nin the context, counted by the %s:\n", usage.Counted)
	for _, name := range slices.Sorted(maps.Keys(usage.Categories)) {
		fmt.Fprintf(out, "  %-9s %5d\n", name, usage.Categories[name])
	}

	fmt.Fprintf(out, "\n$%.4f, and $%.4f more without the cache\n", cost, withoutCache-cost)
	for _, name := range slices.Sorted(maps.Keys(models)) {
		fmt.Fprintf(out, "  model %s: $%.4f\n", name, models[name])
	}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		fmt.Fprintf(out, "  tool %s: %d calls\n", name, calls[name])
	}
	return nil
}
