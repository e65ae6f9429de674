// Minimal is the least program with this library: one tool, one prompt, the
// Anthropic client, asking the server at BASE_URL.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/tool"
)

type number struct {
	N int `json:"n" jsonschema:"the number"`
}

func main() {
	client := &anthropic.Client{BaseURL: os.Getenv("BASE_URL"), APIKey: "none"}
	a := &agent.Agent{
		Model: client.Model("claude-sonnet-4-6"),
		Tools: []tool.Tool{tool.Func(tool.Spec{Name: "double", Description: "Doubles a number.", ReadOnly: true},
			func(_ context.Context, in number) (int, error) { return 2 * in.N, nil })},
	}
	res, err := a.Prompt(context.Background(), "Double all numbers.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Text)
}
