// Minimal is the least program with the tool runner of anthropic-sdk-go: one
// tool, one prompt, asking the server at BASE_URL.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/toolrunner"
)

type number struct {
	N int `json:"n" jsonschema:"required,description=the number"`
}

func main() {
	client := anthropic.NewClient(option.WithAPIKey("none"), option.WithBaseURL(os.Getenv("BASE_URL")))
	double, err := toolrunner.NewBetaToolFromJSONSchema("double", "Doubles a number.", func(_ context.Context, in number) (anthropic.BetaToolResultBlockParamContentUnion, error) {
		return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: strconv.Itoa(2 * in.N)}}, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	r := client.Beta.Messages.NewToolRunner([]anthropic.BetaTool{double}, anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model: "claude-sonnet-4-6", MaxTokens: 16384,
		Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Double all numbers."))},
	}})
	m, err := r.RunToCompletion(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, b := range m.Content {
		fmt.Println(b.Text)
	}
}
