// Structured-output reads a receipt into a Go value. The answer must match the schema of the type.
// An invalid answer goes back to the model with the error.
//
// Run it with: go run ./examples/33-structured-output
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/attach"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
)

// A Receipt is what the program wants to know.
type Receipt struct {
	Shop  string `json:"shop"`
	Items []Item `json:"items" jsonschema:"every line with a price, but for totals"`
	Total Cents  `json:"total" jsonschema:"in cents"`
	Paid  string `json:"paid,omitempty" jsonschema:"how it was paid, if that is said"`
}

// An Item is a line of a receipt.
type Item struct {
	Name  string `json:"name"`
	Cents Cents  `json:"cents"`
}

// Cents are an amount of money.
type Cents int

func (c Cents) String() string { return fmt.Sprintf("%d.%02d", c/100, c%100) }

const receipt = `CORNER BAKERY
Rye bread        4.20
2 Croissants     3.60
Total            7.80
Thank you!
`

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "structured-output")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "receipt.txt")
	if err := os.WriteFile(file, []byte(receipt), 0o600); err != nil {
		return err
	}
	blocks, err := attach.File(file) // an image or a PDF would do as well
	if err != nil {
		return err
	}
	a := &agent.Agent{Model: model()}
	s := a.Session("")
	defer s.Close()
	r, res, err := agent.PromptAs[Receipt](ctx, s, "What was bought?", blocks...)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s, %v in all, after %d answers:\n", r.Shop, r.Total, res.Turns)
	for _, i := range r.Items {
		fmt.Fprintf(out, "  %-12s %6v\n", i.Name, i.Cents)
	}
	fmt.Fprintln(out, "\nWhat the model was told meanwhile:")
	messages, err := s.Messages(ctx)
	if err != nil {
		return err
	}
	for _, m := range messages[1:] {
		if m.Role == llm.User {
			fmt.Fprintln(out, told(m))
		}
	}

	// A model that never gets it right ends the run with a typed error.
	vague := &agent.Agent{Model: &llmtest.Model{Rule: func(*llmtest.Request, int) llmtest.Step { return llmtest.Say("Something nice.") }}}
	_, res, err = agent.PromptAs[Receipt](ctx, vague, "What was bought?", blocks...)
	var bad *agent.OutputError
	if !errors.Is(err, agent.ErrOutputInvalid) || !errors.As(err, &bad) || res.Reason != event.OutputInvalid {
		return fmt.Errorf("an answer without end: %w", err)
	}
	fmt.Fprintf(out, "\nA vague model was asked %d times, and said %q.\n", res.Turns, bad.Said)
	return nil
}

func told(m llm.Message) string {
	for _, b := range m.Content {
		if r, ok := b.(llm.ToolResult); ok {
			return "- " + r.Content.Text()
		}
	}
	return "- " + m.Text()
}
