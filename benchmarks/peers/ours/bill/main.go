// Bill holds the session of work with this library.
package main

import (
	"context"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/benchmarks/harness"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/tool"
)

type input struct {
	Path  string `json:"path,omitempty"`
	Limit int    `json:"limit,omitempty"`
}

func main() {
	harness.Session("github.com/openagent-go/agent", func(url string, _ harness.Way) (harness.Say, error) {
		m := (&anthropic.Client{BaseURL: url, APIKey: "none"}).Model("claude-sonnet-4-6")
		s := (&agent.Agent{Model: m, System: harness.SessionSystem, Tools: tools()}).Session("")
		return func(ctx context.Context, prompt string) (string, error) {
			res, err := s.Prompt(ctx, prompt)
			if err != nil {
				return "", err
			}
			return res.Text, nil
		}, nil
	})
}

func tools() []tool.Tool {
	var list []tool.Tool
	for _, t := range harness.SessionTools {
		list = append(list, tool.Func(tool.Spec{Name: t.Name, Description: t.Text, ReadOnly: true}, func(context.Context, input) (string, error) { return t.Result, nil }))
	}
	return list
}
