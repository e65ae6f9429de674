// Eino measures the adk of github.com/cloudwego/eino, with the OpenAI client of
// eino-ext (Chat Completions).
package main

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/openagent-go/agent/benchmarks/harness"
)

func main() {
	harness.Main(harness.Peer{
		Name: "eino", Library: "github.com/cloudwego/eino", Wire: "chat",
		Agent: func(s harness.Script) (harness.Run, error) {
			tools, err := tenTools()
			if err != nil {
				return nil, err
			}
			r, err := newRunner(scripted{s}, false, tools...)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (string, error) {
				var last string
				err := converse(ctx, r, func(m *adk.MessageVariant) error { last = m.Message.Content; return nil })
				return last, err
			}, nil
		},
		Streams: map[string]func(string) (harness.Stream, error){
			harness.ByAgent: func(url string) (harness.Stream, error) {
				m, err := gpt(url)
				if err != nil {
					return nil, err
				}
				r, err := newRunner(m, true)
				if err != nil {
					return nil, err
				}
				return func(ctx context.Context, text *harness.Text) error {
					return converse(ctx, r, func(m *adk.MessageVariant) error {
						if !m.IsStreaming {
							return errors.New("a message without a stream")
						}
						return drain(m.MessageStream, text)
					})
				}, nil
			},
			harness.ByClient: func(url string) (harness.Stream, error) {
				m, err := gpt(url)
				if err != nil {
					return nil, err
				}
				return func(ctx context.Context, text *harness.Text) error {
					s, err := m.Stream(ctx, []*schema.Message{schema.UserMessage(harness.Prompt)})
					if err != nil {
						return err
					}
					return drain(s, text)
				}, nil
			},
		},
		Shared: func() (func() any, error) {
			tools, err := tenTools()
			if err != nil {
				return nil, err
			}
			if _, err := newRunner(scripted{}, false, tools...); err != nil {
				return nil, err
			}
			return func() any { r, _ := newRunner(scripted{}, false, tools...); return r }, nil
		},
		Own: func() (any, error) {
			tools, err := tenTools()
			if err != nil {
				return nil, err
			}
			return newRunner(scripted{}, false, tools...)
		},
	})
}

func newRunner(m model.BaseChatModel, stream bool, tools ...tool.BaseTool) (*adk.Runner, error) {
	ctx := context.Background()
	c := &adk.ChatModelAgentConfig{Name: "agent", Description: "Doubles numbers.", Model: m, MaxIterations: 2000}
	c.ToolsConfig = adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}}
	a, err := adk.NewChatModelAgent(ctx, c)
	if err != nil {
		return nil, err
	}
	return adk.NewRunner(ctx, adk.RunnerConfig{Agent: a, EnableStreaming: stream}), nil
}

func converse(ctx context.Context, r *adk.Runner, see func(*adk.MessageVariant) error) error {
	events := r.Query(ctx, harness.Prompt)
	for {
		e, ok := events.Next()
		switch {
		case !ok:
			return nil
		case e.Err != nil:
			return e.Err
		case e.Output != nil && e.Output.MessageOutput != nil:
			if err := see(e.Output.MessageOutput); err != nil {
				return err
			}
		}
	}
}

func drain(s *schema.StreamReader[*schema.Message], text *harness.Text) error {
	defer s.Close()
	for {
		m, err := s.Recv()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case m.Content != "":
			text.Write(m.Content)
		}
	}
}

func gpt(url string) (*openai.ChatModel, error) {
	return openai.NewChatModel(context.Background(), &openai.ChatModelConfig{APIKey: "none", BaseURL: url + "/v1", Model: "gpt-5"})
}

type number struct {
	N int `json:"n" jsonschema:"required" jsonschema_description:"the number"`
}

func double(name string) (tool.BaseTool, error) {
	return utils.InferTool(name, harness.ToolText, func(_ context.Context, in *number) (string, error) {
		return strconv.Itoa(harness.Double(in.N)), nil
	})
}

func tenTools() ([]tool.BaseTool, error) {
	tools := make([]tool.BaseTool, len(harness.Names))
	for i := range tools {
		var err error
		if tools[i], err = double(harness.Names[i]); err != nil {
			return nil, err
		}
	}
	return tools, nil
}

type scripted struct{ script harness.Script }

func (m scripted) Generate(ctx context.Context, input []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	use, err := m.script.Next(ctx, len(input))
	if err != nil {
		return nil, err
	}
	if use == nil {
		return schema.AssistantMessage(harness.Final, nil), nil
	}
	return schema.AssistantMessage("", []schema.ToolCall{{ID: use.ID, Type: "function", Function: schema.FunctionCall{Name: harness.Tool, Arguments: use.Input}}}), nil
}

func (m scripted) Stream(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	answer, err := m.Generate(ctx, input, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{answer}), nil
}

func (m scripted) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }
