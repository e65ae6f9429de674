// Trpc measures trpc.group/trpc-go/trpc-agent-go.
package main

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"trpc.group/trpc-go/trpc-agent-go/agent/llmagent"
	"trpc.group/trpc-go/trpc-agent-go/model"
	"trpc.group/trpc-go/trpc-agent-go/model/anthropic"
	"trpc.group/trpc-go/trpc-agent-go/runner"
	"trpc.group/trpc-go/trpc-agent-go/session"
	"trpc.group/trpc-go/trpc-agent-go/session/inmemory"
	"trpc.group/trpc-go/trpc-agent-go/tool"
	"trpc.group/trpc-go/trpc-agent-go/tool/function"

	"github.com/openagent-go/agent/benchmarks/harness"
)

func main() {
	harness.Main(harness.Peer{
		Name: "trpc-agent-go", Library: "trpc.group/trpc-go/trpc-agent-go", Wire: "anthropic",
		Agent: func(s harness.Script) (harness.Run, error) {
			r := newRunner(scripted{s}, false, tenTools()...)
			return func(ctx context.Context) (string, error) {
				var last string
				err := converse(ctx, r, func(resp *model.Response) {
					if len(resp.Choices) > 0 && !resp.IsPartial && resp.Choices[0].Message.Role == model.RoleAssistant {
						last = resp.Choices[0].Message.Content
					}
				})
				return last, err
			}, nil
		},
		Streams: map[string]func(string) (harness.Stream, error){
			harness.ByAgent: func(url string) (harness.Stream, error) {
				r := newRunner(claude(url), true)
				return func(ctx context.Context, text *harness.Text) error {
					return converse(ctx, r, func(resp *model.Response) { piece(resp, text) })
				}, nil
			},
			harness.ByClient: func(url string) (harness.Stream, error) {
				m := claude(url)
				return func(ctx context.Context, text *harness.Text) error {
					responses, err := m.GenerateContent(ctx, &model.Request{Messages: []model.Message{model.NewUserMessage(harness.Prompt)},
						GenerationConfig: model.GenerationConfig{Stream: true}})
					if err != nil {
						return err
					}
					for r := range responses {
						if r.Error != nil {
							return errors.New(r.Error.Message)
						}
						piece(r, text)
					}
					return nil
				}, nil
			},
		},
		Shared: func() (func() any, error) {
			tools := tenTools()
			return func() any { return newRunner(scripted{}, false, tools...) }, nil
		},
		Own: func() (any, error) { return newRunner(scripted{}, false, tenTools()...), nil },
	})
}

func piece(r *model.Response, text *harness.Text) {
	if r.IsPartial && len(r.Choices) > 0 && r.Choices[0].Delta.Content != "" {
		text.Write(r.Choices[0].Delta.Content)
	}
}

func claude(url string) model.Model {
	return anthropic.New("claude-sonnet-4-6", anthropic.WithAPIKey("none"), anthropic.WithBaseURL(url))
}

// store is shared by all agents of the process.
var store = sync.OnceValue(func() session.Service { return inmemory.NewSessionService() })

const (
	app  = "bench"
	user = "somebody"
)

func newRunner(m model.Model, stream bool, tools ...tool.Tool) runner.Runner {
	a := llmagent.New("agent", llmagent.WithModel(m), llmagent.WithTools(tools), llmagent.WithMaxLLMCalls(0),
		llmagent.WithGenerationConfig(model.GenerationConfig{Stream: stream}))
	return runner.NewRunner(app, a, runner.WithSessionService(store()))
}

var ids = struct {
	sync.Mutex
	n int
}{}

func newID() string {
	ids.Lock()
	defer ids.Unlock()
	ids.n++
	return "s" + strconv.Itoa(ids.n)
}

// converse holds a conversation and forgets it.
func converse(ctx context.Context, r runner.Runner, see func(*model.Response)) error {
	id := newID()
	events, err := r.Run(ctx, user, id, model.NewUserMessage(harness.Prompt))
	if err != nil {
		return err
	}
	var failed error
	for e := range events {
		if e.Error != nil {
			failed = errors.Join(failed, errors.New(e.Error.Message))
		}
		if e.Response != nil {
			see(e.Response)
		}
	}
	return errors.Join(failed, store().DeleteSession(ctx, session.Key{AppName: app, UserID: user, SessionID: id}))
}

type number struct {
	N int `json:"n" jsonschema:"description=the number,required"`
}

func double(name string) tool.Tool {
	return function.NewFunctionTool(func(_ context.Context, in number) (int, error) { return harness.Double(in.N), nil },
		function.WithName(name), function.WithDescription(harness.ToolText))
}

func tenTools() []tool.Tool {
	tools := make([]tool.Tool, len(harness.Names))
	for i := range tools {
		tools[i] = double(harness.Names[i])
	}
	return tools
}

type scripted struct{ script harness.Script }

func (scripted) Info() model.Info { return model.Info{Name: "scripted"} }

func (m scripted) GenerateContent(ctx context.Context, req *model.Request) (<-chan *model.Response, error) {
	n := len(req.Messages)
	if n > 0 && req.Messages[0].Role == model.RoleSystem {
		n--
	}
	use, err := m.script.Next(ctx, n)
	if err != nil {
		return nil, err
	}
	message, reason := model.NewAssistantMessage(harness.Final), "stop"
	if use != nil {
		reason = "tool_calls"
		message = model.Message{Role: model.RoleAssistant, ToolCalls: []model.ToolCall{{Type: "function", ID: use.ID,
			Function: model.FunctionDefinitionParam{Name: harness.Tool, Arguments: []byte(use.Input)}}}}
	}
	responses := make(chan *model.Response, 1)
	responses <- &model.Response{ID: "r", Object: model.ObjectTypeChatCompletion, Model: "scripted", Done: true,
		Choices: []model.Choice{{Message: message, FinishReason: &reason}},
		Usage:   &model.Usage{PromptTokens: 100, CompletionTokens: 20, TotalTokens: 120}}
	close(responses)
	return responses, nil
}
