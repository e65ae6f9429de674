// Test-your-agent is a small agent. main_test.go tests it in two ways: with a scripted model, and
// over HTTP with a strict server.
//
// Run it with: go run ./examples/08-test-your-agent
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

type order struct {
	ID int `json:"id" jsonschema:"number of the order"`
}

// support answers questions about orders.
func support(m llm.Model, status func(id int) (string, error)) *agent.Agent {
	return &agent.Agent{
		Model:  m,
		System: "You answer questions about orders. Look an order up before you speak of it.",
		Tools: []tool.Tool{tool.Func(tool.Spec{Name: "order_status", ReadOnly: true, Description: "Look up an order."},
			func(_ context.Context, in order) (string, error) { return status(in.ID) })},
		Budget: agent.Budget{Turns: 5},
	}
}

func main() {
	m := model()
	res, err := support(m, func(id int) (string, error) { return fmt.Sprintf("order %d: shipped", id), nil }).Prompt(context.Background(), "Where is order 42?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(os.Stdout, res.Text)
}
