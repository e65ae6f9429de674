// Bill holds the session of work with trpc.group/trpc-go/trpc-agent-go.
package main

import (
	"context"
	"errors"

	"trpc.group/trpc-go/trpc-agent-go/agent/llmagent"
	"trpc.group/trpc-go/trpc-agent-go/model"
	"trpc.group/trpc-go/trpc-agent-go/model/anthropic"
	"trpc.group/trpc-go/trpc-agent-go/runner"
	"trpc.group/trpc-go/trpc-agent-go/session/inmemory"
	"trpc.group/trpc-go/trpc-agent-go/tool"
	"trpc.group/trpc-go/trpc-agent-go/tool/function"

	"github.com/openagent-go/agent/benchmarks/harness"
)

type input struct {
	Path  string `json:"path,omitempty"`
	Limit int    `json:"limit,omitempty"`
}

func main() { harness.Session("trpc.group/trpc-go/trpc-agent-go", open) }

func open(url string, way harness.Way) (harness.Say, error) {
	options := []anthropic.Option{anthropic.WithAPIKey("none"), anthropic.WithBaseURL(url)}
	if way != harness.ByItself {
		options = append(options, anthropic.WithCacheSystemPrompt(true), anthropic.WithCacheTools(true), anthropic.WithCacheMessages(true))
	}
	var tools []tool.Tool
	for _, t := range harness.SessionTools {
		tools = append(tools, function.NewFunctionTool(func(context.Context, input) (string, error) { return t.Result, nil },
			function.WithName(t.Name), function.WithDescription(t.Text)))
	}
	a := llmagent.New("agent", llmagent.WithModel(anthropic.New("claude-sonnet-4-6", options...)), llmagent.WithTools(tools), llmagent.WithMaxLLMCalls(0),
		llmagent.WithInstruction(harness.SessionSystem))
	r := runner.NewRunner("bench", a, runner.WithSessionService(inmemory.NewSessionService()))
	return func(ctx context.Context, prompt string) (string, error) {
		events, err := r.Run(ctx, "somebody", "session", model.NewUserMessage(prompt))
		if err != nil {
			return "", err
		}
		var last string
		var failed error
		for e := range events {
			if e.Error != nil {
				failed = errors.Join(failed, errors.New(e.Error.Message))
			}
			if e.Response != nil && len(e.Response.Choices) > 0 && !e.Response.IsPartial && e.Response.Choices[0].Message.Role == model.RoleAssistant {
				last = e.Response.Choices[0].Message.Content
			}
		}
		return last, failed
	}, nil
}
