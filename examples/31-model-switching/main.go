// Model-switching asks a cheap model a simple question and a strong model a hard one, in one
// session. While a prompt runs, it changes the model, the thinking effort, the fallback and the
// budget. It prints the cost of each model.
//
// Run it with: go run ./examples/31-model-switching
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"slices"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/catalog"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/tool"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// models are those of Anthropic with a key, else scripts with their prices.
type models struct{ table *catalog.Table }

func (m models) named(name string, steps ...llmtest.Step) llm.Model {
	if os.Getenv("ANTHROPIC_API_KEY") != "" {
		return (&anthropic.Client{Catalog: m.table}).Model(name)
	}
	e, _ := m.table.Lookup("", name)
	return &llmtest.Model{ID: name, Steps: steps, Facts: e.Info()}
}

func run(ctx context.Context, out io.Writer) error {
	table := new(catalog.Table) // a catalogue is a value; what it lacks is looked up in the embedded one
	if err := table.Register(catalog.Entry{Name: "glm-4-plus", Provider: "openai", Price: &llm.Price{Input: 0.1, Output: 0.1}}); err != nil {
		return err
	}
	used := func(input, output int) llm.Usage { return llm.Usage{Input: input, Output: output} }
	busy := llmtest.Fail(&llm.APIError{Class: llm.Overloaded, Status: 529, RetryAfter: -1})
	get := models{table}
	sonnet := get.named("claude-sonnet-4-6", llmtest.Step{Text: "5", Usage: used(45, 3)},
		llmtest.Step{Calls: []llm.ToolUse{llmtest.Use("", "think_harder", struct{}{})}, Usage: used(60, 20)})
	opus := get.named("claude-opus-4-6", llmtest.Step{Text: "Values are copied, references are shared.", Usage: used(52, 156)}, busy)
	haiku := get.named("claude-haiku-4-5", llmtest.Step{Text: "In short: they differ in identity.", Usage: used(70, 30)})

	var s *agent.Session
	harder := tool.Func(tool.Spec{Name: "think_harder", Description: "Have a stronger model go on.", ReadOnly: true}, func(ctx context.Context, _ struct{}) (string, error) {
		return "A stronger model goes on.", errors.Join(s.SetModel(ctx, opus), s.SetThinking(ctx, llm.Thought{Effort: "high"})) // in force from the next request
	})
	a := &agent.Agent{Model: sonnet, Tools: []tool.Tool{harder}, Retry: &agent.Retry{Tries: -1}}
	s = a.Session("")
	defer s.Close()
	ask := func(prompt string) error {
		for e, err := range s.Stream(ctx, prompt) {
			switch f := e.Data.(type) {
			case event.ModelChanged:
				fmt.Fprintf(out, "  (changed to %s, effort %q)\n", f.Model, f.Thinking.Effort)
			case event.ModelFailed:
				fmt.Fprintf(out, "  (%s failed: %s)\n", f.Model, f.Class)
			case event.RunEnd:
				fmt.Fprintf(out, "%s\n%s\n", prompt, f.Text)
				for _, name := range slices.Sorted(maps.Keys(f.Models)) {
					m := f.Models[name]
					cost := "unknown"
					if m.CostUSD != nil {
						cost = fmt.Sprintf("$%.6f", *m.CostUSD)
					}
					fmt.Fprintf(out, "  %-18s %3d in, %3d out, %s\n", name, m.Usage.Context(), m.Usage.Output, cost)
				}
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := ask("What is 2 + 3?"); err != nil {
		return err
	}
	if err := ask("How do structs and classes differ?"); err != nil { // sonnet asks for opus
		return err
	}
	if err := s.SetFallback(ctx, haiku); err != nil {
		return err
	}
	if err := s.SetBudget(ctx, agent.Budget{USD: 1, Turns: 5}); err != nil {
		return err
	}
	if err := ask("And in a sentence?"); err != nil { // opus is busy, haiku takes over
		return err
	}

	// What makes no sense is refused: a budget cannot bound a cost that is not known.
	err := s.SetModel(ctx, &llmtest.Model{ID: "home-made"})
	fmt.Fprintln(out, "home-made under a budget:", errors.Is(err, agent.ErrConfig))
	for _, m := range []llm.Model{opus, get.named("glm-4-plus"), &llmtest.Model{ID: "home-made"}} {
		i := llm.InfoOf(m)
		window, assumed := i.Room()
		fmt.Fprintf(out, "%s: window %d (assumed: %v), price known: %v\n", m.Name(), window, assumed, i.Price != nil)
	}
	return nil
}
