// Custom-tool turns a Go function into a tool. The schema comes from the function's input type.
// Invalid inputs never reach the function.
//
// Run it with: go run ./examples/03-custom-tool
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/tool"
)

type place struct {
	City string `json:"city" jsonschema:"name of the city"`
	Unit string `json:"unit,omitempty" jsonschema:"C or F"`
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	weather := tool.Func(tool.Spec{
		Name:        "get_weather",
		Description: "Report the current weather in a city.",
		ReadOnly:    true, // runs beside other calls, and without asking
	}, func(ctx context.Context, in place) (string, error) {
		fmt.Fprintf(out, "looking at the sky over %s\n", in.City)
		return "sunny, 24 degrees", nil
	})
	a := &agent.Agent{
		Model: model(),
		Tools: []tool.Tool{weather},
	}
	res, err := a.Prompt(ctx, "What should I pack for Paris?")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, res.Text)
	return nil
}
