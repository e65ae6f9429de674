// Minimal is the least program with adk: one tool, one prompt, its client of
// OpenAI's Responses API, asking the server at BASE_URL.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model/openaimodel"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"
)

type number struct {
	N int `json:"n" jsonschema:"the number"`
}

type answer struct {
	Result int `json:"result"`
}

func main() {
	ctx := context.Background()
	m, err := openaimodel.NewModel(ctx, "gpt-5", &openaimodel.ClientConfig{APIKey: "none", BaseURL: os.Getenv("BASE_URL") + "/v1"})
	if err != nil {
		log.Fatal(err)
	}
	double, err := functiontool.New(functiontool.Config{Name: "double", Description: "Doubles a number."},
		func(_ agent.Context, in number) (answer, error) { return answer{2 * in.N}, nil })
	if err != nil {
		log.Fatal(err)
	}
	a, err := llmagent.New(llmagent.Config{Name: "agent", Model: m, Tools: []tool.Tool{double}})
	if err != nil {
		log.Fatal(err)
	}
	r, err := runner.New(runner.Config{AppName: "minimal", Agent: a, SessionService: session.InMemoryService(), AutoCreateSession: true})
	if err != nil {
		log.Fatal(err)
	}
	for e, err := range r.Run(ctx, "somebody", "1", genai.NewContentFromText("Double all numbers.", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			log.Fatal(err)
		}
		if e.IsFinalResponse() && e.Content != nil {
			for _, p := range e.Content.Parts {
				fmt.Println(p.Text)
			}
		}
	}
}
