// Anthropic measures the tool runner of github.com/anthropics/anthropic-sdk-go.
// It has no place for a model of one's own: its script is played as HTTP replies.
package main

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/toolrunner"

	"github.com/openagent-go/agent/benchmarks/harness"
)

func main() {
	harness.Main(harness.Peer{
		Name: "anthropic-sdk-go", Library: "github.com/anthropics/anthropic-sdk-go", HTTP: true, Wire: "anthropic",
		Agent: func(s harness.Script) (harness.Run, error) {
			client := anthropic.NewClient(option.WithAPIKey("none"), option.WithMaxRetries(0),
				option.WithHTTPClient(&http.Client{Transport: harness.Transport{Script: s}}))
			tools, err := tenTools()
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (string, error) { return run(ctx, &client, tools) }, nil
		},
		Streams: map[string]func(string) (harness.Stream, error){
			harness.ByAgent:  agentStream,
			harness.ByClient: clientStream,
		},
		Shared: func() (func() any, error) {
			tools, err := tenTools()
			if err != nil {
				return nil, err
			}
			client := anthropic.NewClient(option.WithAPIKey("none"))
			return func() any { return newRunner(&client, tools...) }, nil
		},
		Own: func() (any, error) {
			tools, err := tenTools()
			if err != nil {
				return nil, err
			}
			client := anthropic.NewClient(option.WithAPIKey("none"))
			return newRunner(&client, tools...), nil
		},
	})
}

func params() anthropic.BetaToolRunnerParams {
	return anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model: "claude-sonnet-4-6", MaxTokens: 16384,
		Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(harness.Prompt))},
	}}
}

func newRunner(c *anthropic.Client, tools ...anthropic.BetaTool) *anthropic.BetaToolRunner {
	return c.Beta.Messages.NewToolRunner(tools, params())
}

func run(ctx context.Context, c *anthropic.Client, tools []anthropic.BetaTool) (string, error) {
	m, err := newRunner(c, tools...).RunToCompletion(ctx)
	if err != nil {
		return "", err
	}
	if len(m.Content) != 1 {
		return "", errors.New("an answer of other than one block")
	}
	return m.Content[0].Text, nil
}

func agentStream(url string) (harness.Stream, error) {
	client := anthropic.NewClient(option.WithAPIKey("none"), option.WithBaseURL(url))
	return func(ctx context.Context, text *harness.Text) error {
		r := client.Beta.Messages.NewToolRunnerStreaming(nil, params())
		for events, err := range r.AllStreaming(ctx) {
			if err != nil {
				return err
			}
			for e, err := range events {
				if err != nil {
					return err
				}
				if e.Type == "content_block_delta" && e.Delta.Type == "text_delta" {
					text.Write(e.Delta.Text)
				}
			}
		}
		return r.Err()
	}, nil
}

func clientStream(url string) (harness.Stream, error) {
	client := anthropic.NewClient(option.WithAPIKey("none"), option.WithBaseURL(url))
	return func(ctx context.Context, text *harness.Text) error {
		s := client.Messages.NewStreaming(ctx, anthropic.MessageNewParams{Model: "claude-sonnet-4-6", MaxTokens: 16384,
			Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(harness.Prompt))}})
		defer s.Close()
		for s.Next() {
			if e := s.Current(); e.Type == "content_block_delta" && e.Delta.Type == "text_delta" {
				text.Write(e.Delta.Text)
			}
		}
		return s.Err()
	}, nil
}

type number struct {
	N int `json:"n" jsonschema:"required,description=the number"`
}

func double(name string) (anthropic.BetaTool, error) {
	return toolrunner.NewBetaToolFromJSONSchema(name, harness.ToolText, func(_ context.Context, in number) (anthropic.BetaToolResultBlockParamContentUnion, error) {
		return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: strconv.Itoa(harness.Double(in.N))}}, nil
	})
}

func tenTools() ([]anthropic.BetaTool, error) {
	tools := make([]anthropic.BetaTool, len(harness.Names))
	for i := range tools {
		var err error
		if tools[i], err = double(harness.Names[i]); err != nil {
			return nil, err
		}
	}
	return tools, nil
}
