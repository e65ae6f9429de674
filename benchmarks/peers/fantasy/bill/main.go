// Bill holds the session of work with charm.land/fantasy.
package main

import (
	"context"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/anthropic"

	"github.com/openagent-go/agent/benchmarks/harness"
)

type input struct {
	Path  string `json:"path,omitempty"`
	Limit int    `json:"limit,omitempty"`
}

func main() { harness.Session("charm.land/fantasy", open) }

func open(url string, way harness.Way) (harness.Say, error) {
	p, err := anthropic.New(anthropic.WithAPIKey("none"), anthropic.WithBaseURL(url))
	if err != nil {
		return nil, err
	}
	m, err := p.LanguageModel(context.Background(), "claude-sonnet-4-6")
	if err != nil {
		return nil, err
	}
	var tools []fantasy.AgentTool
	for _, t := range harness.SessionTools {
		tools = append(tools, fantasy.NewAgentTool(t.Name, t.Text, func(context.Context, input, fantasy.ToolCall) (fantasy.ToolResponse, error) {
			return fantasy.NewTextResponse(t.Result), nil
		}))
	}
	options := []fantasy.AgentOption{fantasy.WithSystemPrompt(harness.SessionSystem), fantasy.WithTools(tools...)}
	if way != harness.ByItself {
		tools[len(tools)-1].SetProviderOptions(mark())
		options = append(options, fantasy.WithPrepareStep(markLast))
	}
	a := fantasy.NewAgent(m, options...)
	var history []fantasy.Message
	return func(ctx context.Context, prompt string) (string, error) {
		res, err := a.Generate(ctx, fantasy.AgentCall{Prompt: prompt, Messages: history})
		if err != nil {
			return "", err
		}
		history = append(history, fantasy.NewUserMessage(prompt))
		for _, step := range res.Steps {
			history = append(history, step.Messages...)
		}
		return res.Response.Content.Text(), nil
	}, nil
}

func mark() fantasy.ProviderOptions {
	return anthropic.NewProviderCacheControlOptions(&anthropic.ProviderCacheControlOptions{CacheControl: anthropic.CacheControl{Type: "ephemeral"}})
}

// markLast marks the system prompt and the last two messages: the library leaves the
// marks to the program.
func markLast(ctx context.Context, o fantasy.PrepareStepFunctionOptions) (context.Context, fantasy.PrepareStepResult, error) {
	list := append([]fantasy.Message(nil), o.Messages...)
	for i := range list {
		list[i].ProviderOptions = nil
		if i >= len(list)-2 || list[i].Role == fantasy.MessageRoleSystem {
			list[i].ProviderOptions = mark()
		}
	}
	return ctx, fantasy.PrepareStepResult{Messages: list}, nil
}
