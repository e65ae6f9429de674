// Adk measures google.golang.org/adk/v2. Its only client without Google's cloud
// speaks OpenAI's Responses API.
package main

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"sync"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/model/openaimodel"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"

	"github.com/openagent-go/agent/benchmarks/harness"
)

func main() {
	harness.Main(harness.Peer{
		Name: "adk", Library: "google.golang.org/adk/v2", Wire: "responses",
		Agent: func(s harness.Script) (harness.Run, error) {
			tools, err := tenTools()
			if err != nil {
				return nil, err
			}
			r, err := newRunner(scripted{s}, tools...)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (string, error) {
				var last string
				err := converse(ctx, r, agent.StreamingModeNone, func(e *session.Event) { last = text(e) })
				return last, err
			}, nil
		},
		Streams: map[string]func(string) (harness.Stream, error){
			harness.ByAgent: func(url string) (harness.Stream, error) {
				m, err := gpt(url)
				if err != nil {
					return nil, err
				}
				r, err := newRunner(m)
				if err != nil {
					return nil, err
				}
				return func(ctx context.Context, out *harness.Text) error {
					return converse(ctx, r, agent.StreamingModeSSE, func(e *session.Event) {
						if e.Partial {
							out.Write(text(e))
						}
					})
				}, nil
			},
			harness.ByClient: func(url string) (harness.Stream, error) {
				m, err := gpt(url)
				if err != nil {
					return nil, err
				}
				return func(ctx context.Context, out *harness.Text) error {
					req := &model.LLMRequest{Contents: []*genai.Content{genai.NewContentFromText(harness.Prompt, genai.RoleUser)}}
					for r, err := range m.GenerateContent(ctx, req, true) {
						if err != nil {
							return err
						}
						if r.Partial && r.Content != nil && len(r.Content.Parts) > 0 {
							out.Write(r.Content.Parts[0].Text)
						}
					}
					return nil
				}, nil
			},
		},
		Shared: func() (func() any, error) {
			tools, err := tenTools()
			if err != nil {
				return nil, err
			}
			if _, err := newRunner(scripted{}, tools...); err != nil {
				return nil, err
			}
			return func() any { r, _ := newRunner(scripted{}, tools...); return r }, nil
		},
		Own: func() (any, error) {
			tools, err := tenTools()
			if err != nil {
				return nil, err
			}
			return newRunner(scripted{}, tools...)
		},
	})
}

// store is shared by all agents of the process.
var store = sync.OnceValue(session.InMemoryService)

const user = "somebody"

func newRunner(m model.LLM, tools ...tool.Tool) (*runner.Runner, error) {
	a, err := llmagent.New(llmagent.Config{Name: "agent", Model: m, Tools: tools})
	if err != nil {
		return nil, err
	}
	return runner.New(runner.Config{AppName: "bench", Agent: a, SessionService: store()})
}

// converse holds a conversation and forgets it.
func converse(ctx context.Context, r *runner.Runner, mode agent.StreamingMode, see func(*session.Event)) error {
	made, err := store().Create(ctx, &session.CreateRequest{AppName: "bench", UserID: user})
	if err != nil {
		return err
	}
	id := made.Session.ID()
	for e, err := range r.Run(ctx, user, id, genai.NewContentFromText(harness.Prompt, genai.RoleUser), agent.RunConfig{StreamingMode: mode}) {
		if err != nil {
			return err
		}
		see(e)
	}
	return store().Delete(ctx, &session.DeleteRequest{AppName: "bench", UserID: user, SessionID: id})
}

func text(e *session.Event) string {
	if e.Content == nil {
		return ""
	}
	if len(e.Content.Parts) == 1 {
		return e.Content.Parts[0].Text
	}
	var b strings.Builder
	for _, p := range e.Content.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

func gpt(url string) (model.LLM, error) {
	return openaimodel.NewModel(context.Background(), "gpt-5", &openaimodel.ClientConfig{APIKey: "none", BaseURL: url + "/v1"})
}

type number struct {
	N int `json:"n" jsonschema:"the number"`
}

type answer struct {
	Result int `json:"result"`
}

func double(name string) (tool.Tool, error) {
	return functiontool.New(functiontool.Config{Name: name, Description: harness.ToolText},
		func(_ agent.Context, in number) (answer, error) { return answer{harness.Double(in.N)}, nil })
}

func tenTools() ([]tool.Tool, error) {
	tools := make([]tool.Tool, len(harness.Names))
	for i := range tools {
		var err error
		if tools[i], err = double(harness.Names[i]); err != nil {
			return nil, err
		}
	}
	return tools, nil
}

type scripted struct{ script harness.Script }

func (scripted) Name() string { return "scripted" }

func (m scripted) GenerateContent(ctx context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		use, err := m.script.Next(ctx, len(req.Contents))
		if err != nil {
			yield(nil, err)
			return
		}
		part := &genai.Part{Text: harness.Final}
		if use != nil {
			var args map[string]any
			if err := json.Unmarshal([]byte(use.Input), &args); err != nil {
				yield(nil, err)
				return
			}
			part = &genai.Part{FunctionCall: &genai.FunctionCall{ID: use.ID, Name: harness.Tool, Args: args}}
		}
		yield(&model.LLMResponse{Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{part}}, FinishReason: genai.FinishReasonStop,
			UsageMetadata: &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 100, CandidatesTokenCount: 20, TotalTokenCount: 120}}, nil)
	}
}
