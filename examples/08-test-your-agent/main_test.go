package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
)

// A scripted model plays its part; the test looks at what the agent asked it.
func TestSupport(t *testing.T) {
	m := llmtest.Script(
		llmtest.Call(llmtest.Use("", "order_status", order{7})),
		llmtest.Step{Text: "It is lost."})
	res, err := support(m, func(id int) (string, error) { return "", errors.New("no such order") }).Prompt(t.Context(), "Where is order 7?")
	if err != nil || res.Text != "It is lost." || res.Tools["order_status"].Failures != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	last := m.Requests()[1].Messages
	result := last[len(last)-1].Content[0].(llm.ToolResult)
	if !result.IsError || !strings.Contains(result.Content.Text(), "no such order") {
		t.Errorf("the model was told %+v", result)
	}
}

// Through the wire: the server refuses what the provider would refuse.
func TestSupportOverTheWire(t *testing.T) {
	server := llmtest.NewServer(t,
		llmtest.Call(llmtest.Use("", "order_status", order{7})),
		llmtest.Step{Text: "Shipped."})
	m := (&anthropic.Client{APIKey: "test", BaseURL: server.URL}).Model("claude-sonnet-4-6")
	res, err := support(m, func(int) (string, error) { return "shipped", nil }).Prompt(t.Context(), "Where is order 7?")
	if err != nil || res.Text != "Shipped." {
		t.Fatalf("%+v, %v", res, err)
	}
}
