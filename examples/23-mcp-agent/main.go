// Mcp-agent serves an agent to MCP clients. Here the client is this program itself, and its user
// answers the agent's permission questions. Any client works that starts the program with the
// argument serve.
//
// Run it with: go run ./examples/23-mcp-agent
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/mcp/agentserver"
	"github.com/openagent-go/agent/mcp/server"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

func main() {
	do := run
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		do = serve
	}
	if err := do(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

type order struct {
	Dish string `json:"dish"`
}

// serve is the server: an agent that orders food, if a person allows it.
func serve(ctx context.Context, out io.Writer) error {
	orders := tool.Func(tool.Spec{Name: "order", Description: "Orders a dish."}, func(_ context.Context, in order) (string, error) {
		return "ordered: " + in.Dish, nil
	})
	a := &agent.Agent{
		Model:    model(),
		Tools:    []tool.Tool{orders},
		Sessions: session.Memory(), // so that clients can go on with one
	}
	s, err := agentserver.Prompts(a, "Orders food.", server.Options{Name: "waiter", Version: "1.0.0"})
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Serve(ctx, os.Stdin, out)
}

func run(ctx context.Context, out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	person := func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		fmt.Fprintln(out, r.Params.Message)
		answer := map[string]any{"decision": "allow"}
		if strings.Contains(r.Params.Message, "caviar") {
			answer = map[string]any{"decision": "deny", "reason": "too dear"}
		}
		return &sdk.ElicitResult{Action: "accept", Content: answer}, nil
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "guest", Version: "1.0.0"}, &sdk.ClientOptions{ElicitationHandler: person})
	c, err := client.Connect(ctx, &sdk.CommandTransport{Command: exec.Command(self, "serve")}, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	in := map[string]any{"prompt": "A pizza, please."}
	for range 2 {
		res, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "prompt", Arguments: in})
		if err != nil {
			return err
		}
		got, ok := res.StructuredContent.(map[string]any)
		if !ok {
			return fmt.Errorf("the agent failed: %v", res.Content)
		}
		fmt.Fprintf(out, "%v (%v after %v turns)\n\n", got["result"], got["reason"], got["turns"])
		in = map[string]any{"prompt": "And caviar.", "session": got["session"]}
	}
	return nil
}
