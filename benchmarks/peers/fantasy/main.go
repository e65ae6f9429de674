// Fantasy measures charm.land/fantasy.
package main

import (
	"context"
	"errors"
	"iter"
	"strconv"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/anthropic"

	"github.com/openagent-go/agent/benchmarks/harness"
)

func main() {
	harness.Main(harness.Peer{
		Name: "fantasy", Library: "charm.land/fantasy", Wire: "anthropic",
		Agent: func(s harness.Script) (harness.Run, error) {
			a := fantasy.NewAgent(scripted{s}, fantasy.WithTools(tenTools()...))
			return func(ctx context.Context) (string, error) {
				res, err := a.Generate(ctx, fantasy.AgentCall{Prompt: harness.Prompt})
				if err != nil {
					return "", err
				}
				return res.Response.Content.Text(), nil
			}, nil
		},
		Streams: map[string]func(string) (harness.Stream, error){
			harness.ByAgent: func(url string) (harness.Stream, error) {
				m, err := claude(url)
				if err != nil {
					return nil, err
				}
				a := fantasy.NewAgent(m)
				return func(ctx context.Context, text *harness.Text) error {
					_, err := a.Stream(ctx, fantasy.AgentStreamCall{Prompt: harness.Prompt,
						OnTextDelta: func(_, piece string) error { text.Write(piece); return nil }})
					return err
				}, nil
			},
			harness.ByClient: func(url string) (harness.Stream, error) {
				m, err := claude(url)
				if err != nil {
					return nil, err
				}
				return func(ctx context.Context, text *harness.Text) error { return stream(ctx, m, text) }, nil
			},
		},
		Shared: func() (func() any, error) {
			tools := tenTools()
			return func() any { return fantasy.NewAgent(scripted{}, fantasy.WithTools(tools...)) }, nil
		},
		Own: func() (any, error) { return fantasy.NewAgent(scripted{}, fantasy.WithTools(tenTools()...)), nil },
	})
}

func claude(url string) (fantasy.LanguageModel, error) {
	p, err := anthropic.New(anthropic.WithAPIKey("none"), anthropic.WithBaseURL(url))
	if err != nil {
		return nil, err
	}
	return p.LanguageModel(context.Background(), "claude-sonnet-4-6")
}

func stream(ctx context.Context, m fantasy.LanguageModel, text *harness.Text) error {
	parts, err := m.Stream(ctx, fantasy.Call{Prompt: fantasy.Prompt{fantasy.NewUserMessage(harness.Prompt)}})
	if err != nil {
		return err
	}
	for p := range parts {
		switch p.Type {
		case fantasy.StreamPartTypeError:
			return p.Error
		case fantasy.StreamPartTypeTextDelta:
			text.Write(p.Delta)
		}
	}
	return nil
}

type number struct {
	N int `json:"n" description:"the number"`
}

func double(name string) fantasy.AgentTool {
	return fantasy.NewAgentTool(name, harness.ToolText, func(_ context.Context, in number, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
		return fantasy.NewTextResponse(strconv.Itoa(harness.Double(in.N))), nil
	})
}

func tenTools() []fantasy.AgentTool {
	tools := make([]fantasy.AgentTool, len(harness.Names))
	for i := range tools {
		tools[i] = double(harness.Names[i])
	}
	return tools
}

type scripted struct{ script harness.Script }

func (scripted) Provider() string { return "scripted" }
func (scripted) Model() string    { return "scripted" }

func (m scripted) Generate(ctx context.Context, call fantasy.Call) (*fantasy.Response, error) {
	use, err := m.script.Next(ctx, len(call.Prompt))
	if err != nil {
		return nil, err
	}
	usage := fantasy.Usage{InputTokens: 100, OutputTokens: 20, TotalTokens: 120}
	if use == nil {
		return &fantasy.Response{Content: fantasy.ResponseContent{fantasy.TextContent{Text: harness.Final}}, FinishReason: fantasy.FinishReasonStop, Usage: usage}, nil
	}
	return &fantasy.Response{Content: fantasy.ResponseContent{fantasy.ToolCallContent{ToolCallID: use.ID, ToolName: harness.Tool, Input: use.Input}},
		FinishReason: fantasy.FinishReasonToolCalls, Usage: usage}, nil
}

var errUnused = errors.New("not part of the script")

func (scripted) Stream(context.Context, fantasy.Call) (iter.Seq[fantasy.StreamPart], error) {
	return nil, errUnused
}

func (scripted) GenerateObject(context.Context, fantasy.ObjectCall) (*fantasy.ObjectResponse, error) {
	return nil, errUnused
}

func (scripted) StreamObject(context.Context, fantasy.ObjectCall) (fantasy.ObjectStreamResponse, error) {
	return nil, errUnused
}
