// Minimal is the least program with trpc-agent-go: one tool, one prompt, its
// Anthropic client, asking the server at BASE_URL.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"trpc.group/trpc-go/trpc-agent-go/agent/llmagent"
	"trpc.group/trpc-go/trpc-agent-go/model"
	"trpc.group/trpc-go/trpc-agent-go/model/anthropic"
	"trpc.group/trpc-go/trpc-agent-go/runner"
	"trpc.group/trpc-go/trpc-agent-go/tool"
	"trpc.group/trpc-go/trpc-agent-go/tool/function"
)

type number struct {
	N int `json:"n" jsonschema:"description=the number,required"`
}

func main() {
	double := function.NewFunctionTool(func(_ context.Context, in number) (int, error) { return 2 * in.N, nil },
		function.WithName("double"), function.WithDescription("Doubles a number."))
	m := anthropic.New("claude-sonnet-4-6", anthropic.WithAPIKey("none"), anthropic.WithBaseURL(os.Getenv("BASE_URL")))
	a := llmagent.New("agent", llmagent.WithModel(m), llmagent.WithTools([]tool.Tool{double}))
	r := runner.NewRunner("minimal", a)
	defer r.Close()
	events, err := r.Run(context.Background(), "somebody", "1", model.NewUserMessage("Double all numbers."))
	if err != nil {
		log.Fatal(err)
	}
	last := ""
	for e := range events {
		if e.Error != nil {
			log.Fatal(e.Error.Message)
		}
		if e.Response != nil && len(e.Choices) > 0 && e.Choices[0].Message.Role == model.RoleAssistant {
			last = e.Choices[0].Message.Content
		}
	}
	fmt.Println(last)
}
