// Prompt asks one question and waits for the answer.
//
// Run it with: go run ./examples/01-prompt
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/openagent-go/agent"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	a := &agent.Agent{
		Model:  model(),
		System: "Answer in one short sentence.",
		Budget: agent.Budget{Turns: 5},
	}
	res, err := a.Prompt(ctx, "What is 2 + 2?")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, res.Text)
	fmt.Fprintf(out, "%s after %d turn, %d tokens out\n", res.Reason, res.Turns, res.Usage.Output)
	return nil
}
