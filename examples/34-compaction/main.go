// Compaction reads a book that is longer than the model's context window. Old chapters are cleared
// on the way, a manual summary keeps the decisions, and the session's record stays complete.
//
// Run it with: go run ./examples/34-compaction
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

type chapter struct {
	Number int `json:"number"`
}

// read returns a chapter of the book.
var read = tool.Func(tool.Spec{Name: "read_chapter", Description: "Reads a chapter of the book, 1 to 5.", ReadOnly: true},
	func(_ context.Context, c chapter) (string, error) {
		return fmt.Sprintf("Chapter %d.\n", c.Number) + strings.Repeat(fmt.Sprintf("The lighthouse keeper counts the ships of day %d. ", c.Number), 120), nil
	})

func run(ctx context.Context, out io.Writer) error {
	store := session.Memory()
	a := &agent.Agent{
		Model:    model(),
		Tools:    []tool.Tool{read},
		Sessions: store,
		// 5,000 of the 128,000 tokens that are assumed of a model that nobody knows, so that there is something to see.
		Compaction: &agent.Compaction{At: 5000.0 / 128_000, Keep: 1000, Protect: 1},
	}
	s := a.Session("book")
	defer s.Close()
	ask := func(in agent.Input) error {
		for e, err := range s.StreamInput(ctx, in) {
			if err != nil {
				return err
			}
			switch e := e.Data.(type) {
			case event.Compacted:
				switch {
				case e.Failed != "":
					fmt.Fprintf(out, "  (%s: %s)\n", e.Trigger, e.Failed)
				case e.Until == 0:
					fmt.Fprintf(out, "  (%s: %d old results cleared, no model asked)\n", e.Trigger, len(e.Cleared))
				default:
					fmt.Fprintf(out, "  (%s: %s; remembered: %s)\n", e.Trigger, e.Summary, strings.Join(e.Memory, "; "))
				}
			case event.RunEnd:
				fmt.Fprintln(out, e.Text)
			}
		}
		return nil
	}
	if err := ask(agent.Input{Text: "Read the book, and say in a line what it is about."}); err != nil {
		return err
	}
	// By hand, with what matters; s.Compact(ctx, "who is in it") is the same without events.
	if err := ask(agent.Input{Compact: true, Text: "who is in it"}); err != nil {
		return err
	}
	if err := ask(agent.Input{Text: "Who counts?"}); err != nil {
		return err
	}
	chapters := 0
	for e, err := range store.Read(ctx, "book", 0) {
		if err != nil {
			return err
		}
		if r, ok := e.Data.(event.ToolResult); ok && strings.HasPrefix(r.Result.Text(), "Chapter ") {
			chapters++
		}
	}
	messages, err := s.Messages(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d messages before the model, %d chapters on record.\n", len(messages), chapters)
	return nil
}
