// Minimal is the least program with fantasy: one tool, one prompt, its Anthropic
// client, asking the server at BASE_URL.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/anthropic"
)

type number struct {
	N int `json:"n" description:"the number"`
}

func main() {
	ctx := context.Background()
	p, err := anthropic.New(anthropic.WithAPIKey("none"), anthropic.WithBaseURL(os.Getenv("BASE_URL")))
	if err != nil {
		log.Fatal(err)
	}
	m, err := p.LanguageModel(ctx, "claude-sonnet-4-6")
	if err != nil {
		log.Fatal(err)
	}
	double := fantasy.NewAgentTool("double", "Doubles a number.", func(_ context.Context, in number, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
		return fantasy.NewTextResponse(strconv.Itoa(2 * in.N)), nil
	})
	res, err := fantasy.NewAgent(m, fantasy.WithTools(double)).Generate(ctx, fantasy.AgentCall{Prompt: "Double all numbers."})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Response.Content.Text())
}
