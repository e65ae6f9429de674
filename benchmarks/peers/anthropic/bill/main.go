// Bill holds the session of work with the tool runner of github.com/anthropics/anthropic-sdk-go.
package main

import (
	"context"
	"errors"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/toolrunner"

	"github.com/openagent-go/agent/benchmarks/harness"
)

type input struct {
	Path  string `json:"path,omitempty"`
	Limit int    `json:"limit,omitempty"`
}

var properties = map[string]any{"path": map[string]any{"type": "string"}, "limit": map[string]any{"type": "integer"}}

func main() { harness.Session("github.com/anthropics/anthropic-sdk-go", open) }

func open(url string, way harness.Way) (harness.Say, error) {
	client := anthropic.NewClient(option.WithAPIKey("none"), option.WithBaseURL(url), option.WithMaxRetries(0))
	var tools []anthropic.BetaTool
	for _, t := range harness.SessionTools {
		result := func(context.Context, input) (anthropic.BetaToolResultBlockParamContentUnion, error) {
			return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: t.Result}}, nil
		}
		if way == harness.Stable { // what is beyond these members goes out in random order
			tools = append(tools, toolrunner.NewBetaTool(t.Name, t.Text, anthropic.BetaToolInputSchemaParam{Properties: properties}, result))
			continue
		}
		tool, err := toolrunner.NewBetaToolFromJSONSchema(t.Name, t.Text, result)
		if err != nil {
			return nil, err
		}
		tools = append(tools, tool)
	}
	var history []anthropic.BetaMessageParam
	return func(ctx context.Context, prompt string) (string, error) {
		params := anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model: "claude-sonnet-4-6", MaxTokens: 16384, System: []anthropic.BetaTextBlockParam{{Text: harness.SessionSystem}},
			Messages: append(history[:len(history):len(history)], anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(prompt))),
		}}
		if way != harness.ByItself { // the API places the mark
			params.CacheControl = anthropic.NewBetaCacheControlEphemeralParam()
		}
		r := client.Beta.Messages.NewToolRunner(tools, params)
		m, err := r.RunToCompletion(ctx)
		if err != nil {
			return "", err
		}
		if len(m.Content) != 1 {
			return "", errors.New("an answer of other than one block")
		}
		history = r.Messages()
		return m.Content[0].Text, nil
	}, nil
}
