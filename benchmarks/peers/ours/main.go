// Ours is this library under measurement.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/benchmarks/harness"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/tool"
)

func main() { harness.Main(peers...) }

const library = "github.com/openagent-go/agent"

var peers = []harness.Peer{
	{
		Name: "ours", Library: library, Wire: "anthropic",
		Agent: func(s harness.Script) (harness.Run, error) { return agentRun(scripted{s}), nil },
		Once:  func(s harness.Script) (harness.Run, error) { return promptRun(scripted{s}), nil },
		Streams: map[string]func(string) (harness.Stream, error){
			harness.ByAgent:  func(url string) (harness.Stream, error) { return agentStream(claude(url)), nil },
			harness.ByClient: func(url string) (harness.Stream, error) { return clientStream(claude(url)), nil },
		},
		Shared: shared,
		Own:    func() (any, error) { return newAgent(tenTools()), nil },
	},
	{
		Name: "ours (HTTP)", Library: library, HTTP: true,
		Agent: func(s harness.Script) (harness.Run, error) {
			c := &anthropic.Client{BaseURL: "http://127.0.0.1", HTTP: &http.Client{Transport: harness.Transport{Script: s, Stream: true}}}
			return agentRun(c.Model("claude-sonnet-4-6")), nil
		},
		Once: func(s harness.Script) (harness.Run, error) {
			c := &anthropic.Client{BaseURL: "http://127.0.0.1", HTTP: &http.Client{Transport: harness.Transport{Script: s, Stream: true}}}
			return promptRun(c.Model("claude-sonnet-4-6")), nil
		},
	},
	{
		Name: "ours (chat)", Library: library, Wire: "chat",
		Streams: map[string]func(string) (harness.Stream, error){
			harness.ByAgent:  func(url string) (harness.Stream, error) { return agentStream(gpt(url)), nil },
			harness.ByClient: func(url string) (harness.Stream, error) { return clientStream(gpt(url)), nil },
		},
	},
}

func claude(url string) llm.Model {
	return (&anthropic.Client{BaseURL: url, APIKey: "none"}).Model("claude-sonnet-4-6")
}

func gpt(url string) llm.Model {
	return (&openai.Client{BaseURL: url + "/v1", APIKey: "none"}).Model("gpt-5")
}

type number struct {
	N int `json:"n" jsonschema:"the number"`
}

func double(name string) tool.Tool {
	return tool.Func(tool.Spec{Name: name, Description: harness.ToolText, ReadOnly: true},
		func(_ context.Context, in number) (int, error) { return harness.Double(in.N), nil })
}

// agentRun holds each conversation in a session that keeps its facts in memory.
func agentRun(m llm.Model) harness.Run {
	a := &agent.Agent{Model: m, Tools: tenTools()}
	return func(ctx context.Context) (string, error) {
		s := a.Session("")
		defer s.Close()
		res, err := s.Prompt(ctx, harness.Prompt)
		if err != nil {
			return "", err
		}
		return res.Text, nil
	}
}

// promptRun holds conversations of which nothing is kept.
func promptRun(m llm.Model) harness.Run {
	a := &agent.Agent{Model: m, Tools: tenTools()}
	return func(ctx context.Context) (string, error) {
		res, err := a.Prompt(ctx, harness.Prompt)
		if err != nil {
			return "", err
		}
		return res.Text, nil
	}
}

// scripted is a model without a wire.
type scripted struct{ script harness.Script }

func (scripted) Name() string { return "scripted" }

func (m scripted) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		use, err := m.script.Next(ctx, len(req.Messages))
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		r := &llm.Response{Model: "scripted", Stop: llm.EndTurn, Usage: llm.Usage{Input: 100, Output: 20},
			Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: harness.Final}}}}
		if use != nil {
			r.Stop = llm.UseTools
			r.Message.Content = llm.Blocks{llm.ToolUse{ID: use.ID, Name: harness.Tool, Input: json.RawMessage(use.Input)}}
		}
		yield(llm.Delta{Done: r}, nil)
	}
}

func agentStream(m llm.Model) harness.Stream {
	a := &agent.Agent{Model: m}
	return func(ctx context.Context, text *harness.Text) error {
		for e, err := range a.Stream(ctx, harness.Prompt) {
			if err != nil {
				return err
			}
			if d, ok := e.Data.(event.TextDelta); ok {
				text.Write(d.Text)
			}
		}
		return nil
	}
}

func clientStream(m llm.Model) harness.Stream {
	return func(ctx context.Context, text *harness.Text) error {
		req := &llm.Request{Messages: []llm.Message{llm.UserText(harness.Prompt)}, MaxTokens: 16384}
		for d, err := range m.Stream(ctx, req) {
			switch {
			case err != nil:
				return err
			case d.Done != nil:
				return nil
			case d.Text != "":
				text.Write(d.Text)
			}
		}
		return errors.New("the stream had no end")
	}
}

func tenTools() []tool.Tool {
	tools := make([]tool.Tool, len(harness.Names))
	for i := range tools {
		tools[i] = double(harness.Names[i])
	}
	return tools
}

func newAgent(tools []tool.Tool) any {
	return (&agent.Agent{Model: scripted{}, Tools: tools}).Session("")
}

func shared() (func() any, error) {
	tools := tenTools()
	return func() any { return newAgent(tools) }, nil
}
