// Mcp-in-process offers the program's own tools under the name of an MCP server. They are called
// directly. Their names, permissions and changes at run time work like those of a real server.
//
// Run it with: go run ./examples/22-mcp-in-process
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/tool"
)

type city struct {
	City string `json:"city"`
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	weather := tool.Func(tool.Spec{Name: "get_weather", Description: "Get the weather of a city.", ReadOnly: true},
		func(_ context.Context, in city) (string, error) {
			if in.City != "Rome" {
				return "", fmt.Errorf("nothing is known of %s", in.City) // the model sees it
			}
			return "sunny, 22 °C", nil
		})
	servers := mcp.New(map[string]mcp.Config{"weather": {Tools: []tool.Tool{weather}}}, mcp.Options{})
	defer servers.Close()
	a := &agent.Agent{
		Model:    model(),
		Toolsets: []tool.Set{servers},
	}
	s := a.Session("")
	defer s.Close()
	for _, prompt := range []string{"How is the weather in Rome?", "And now?"} {
		res, err := s.Prompt(ctx, prompt)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "> %s\n%s\n", prompt, res.Text)
		change, err := servers.Set(nil) // the next prompt has none
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "removed: %v\n", change.Removed)
	}
	return nil
}
