//go:build unix

package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/tool"
)

type city struct {
	City string `json:"city"`
}

func weather() tool.Tool {
	return tool.New(tool.Spec{Name: "get_weather", ReadOnly: true, Aliases: []string{"w"}}, func(_ context.Context, call tool.Call, in city) (*tool.Result, error) {
		return tool.Text(call.Name + " " + in.City), nil
	}).OnClassify(func(_ tool.Call, in city) tool.Traits { return tool.Traits{ReadOnly: true, Touches: []string{in.City}} })
}

// Tools of this program are called directly and keep their abilities.
func TestInProcess(t *testing.T) {
	t.Parallel()
	all := mcp.New(map[string]mcp.Config{"here": {Tools: []tool.Tool{weather()}}, "twice": {Tools: []tool.Tool{weather(), weather()}}}, mcp.Options{})
	defer all.Close()
	tools := toolsOf(t, all)
	if len(tools) != 1 || tools[0].Spec().Name != "mcp__here__get_weather" || tools[0].Spec().Aliases != nil || !tools[0].Spec().ReadOnly {
		t.Fatalf("%+v", tools)
	}
	if s := statusOf(t, all, "twice"); s.State != mcpnames.Failed || !strings.Contains(s.Error, "two tools named") {
		t.Errorf("%+v", s)
	}
	in := json.RawMessage(`{"city":"Rome"}`)
	if out := call(t, tools, "mcp__here__get_weather", string(in)); out.Result.Text() != "get_weather Rome" {
		t.Errorf("%s", out.Result.Text())
	}
	if c := toolrun.Classify(tools[0], tool.Call{Input: in}); len(c.Touches) != 1 {
		t.Errorf("%+v", c)
	}
	if err := tools[0].(toolrun.Validator).Validate(tool.Call{Input: json.RawMessage(`{}`)}); err == nil {
		t.Error("an input without a city passes")
	}
}

// A run may still have the tools of a server that was switched off or replaced. Their calls fail, as
// those of a server elsewhere do.
func TestInProcessGone(t *testing.T) {
	t.Parallel()
	const in = `{"city":"Rome"}`
	all := mcp.New(map[string]mcp.Config{"here": {Tools: []tool.Tool{weather()}}}, mcp.Options{})
	defer all.Close()
	old := toolsOf(t, all)
	if err := all.Toggle(t.Context(), "here", false); err != nil {
		t.Fatal(err)
	}
	const want = "the MCP server here is not connected: the server was replaced or removed"
	if out := call(t, old, "mcp__here__get_weather", in); !out.Result.IsError || out.Result.Text() != want {
		t.Errorf("%+v, want %s", out.Result, want)
	}
	if err := all.Toggle(t.Context(), "here", true); err != nil {
		t.Fatal(err)
	}
	if out := call(t, toolsOf(t, all), "mcp__here__get_weather", in); out.Result.IsError {
		t.Errorf("after it was switched on: %s", out.Result.Text())
	}
}

func BenchmarkInProcess(b *testing.B) {
	echo := tool.New(tool.Spec{Name: "echo"}, func(_ context.Context, _ tool.Call, in city) (*tool.Result, error) { return tool.Text(in.City), nil })
	all := mcp.New(map[string]mcp.Config{"here": {Tools: []tool.Tool{echo}}}, mcp.Options{})
	defer all.Close()
	tools, err := all.Tools(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tools[0].Run(b.Context(), tool.Call{Input: json.RawMessage(`{"city":"Rome"}`)}); err != nil {
			b.Fatal(err)
		}
	}
}
