package agent_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	agent "github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/responses"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// The context is shown by category, however it is counted, and the categories sum up.
func TestContextUsage(t *testing.T) {
	reply := func(name, text string) tool.Tool {
		return tool.New(tool.Spec{Name: name, Description: "Does " + name, ReadOnly: true}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) {
			return tool.Text(text), nil
		})
	}
	steps := []llmtest.Step{
		{Thinking: strings.Repeat("let me think ", 40), Calls: []llm.ToolUse{llmtest.Use("a", "Read", map[string]any{}), llmtest.Use("b", "Grep", map[string]any{}), llmtest.Use("c", "mcp__x__y", map[string]any{})}},
		llmtest.Say("That is it."),
	}
	for name, tt := range map[string]struct {
		model func(t *testing.T) llm.Model
		want  engine.Counting
	}{
		"counted by the provider": {func(t *testing.T) llm.Model {
			s := llmtest.NewServer(t, steps...)
			return (&anthropic.Client{APIKey: "k", BaseURL: s.URL}).Model("claude-sonnet-4-5")
		}, engine.ByProvider},
		"counted by Bedrock": {func(t *testing.T) llm.Model {
			s := llmtest.NewPipe(t, steps...)
			return platforms["bedrock"](s.URL, s.Client())
		}, engine.ByProvider},
		"counted by Vertex": {func(t *testing.T) llm.Model {
			s := llmtest.NewPipe(t, steps...)
			return platforms["vertex"](s.URL, s.Client())
		}, engine.ByProvider},
		"counted by OpenAI": {func(t *testing.T) llm.Model {
			s := llmtest.NewPipe(t, steps...)
			return (&responses.Client{APIKey: "k", BaseURL: s.URL, HTTP: s.Client()}).Model("gpt-5-mini")
		}, engine.ByProvider},
		"by a host that does not count": {func(t *testing.T) llm.Model {
			s := llmtest.NewPipe(t, steps...)
			hc := s.Client()
			hc.Transport = uncounted{t, hc.Transport, new(int)}
			return (&responses.Client{APIKey: "k", BaseURL: s.URL, HTTP: hc}).Model("gpt-5-mini")
		}, engine.ByUsage},
		"by the last answer's usage": {func(*testing.T) llm.Model {
			m := llmtest.Script(slices.Clone(steps)...)
			m.Facts.Window = 200_000
			m.Steps[1].Usage = llm.Usage{Input: 3000, CacheRead: 1000, Output: 10}
			return m
		}, engine.ByUsage},
	} {
		t.Run(name, func(t *testing.T) {
			a := &agent.Agent{Model: tt.model(t), System: "You are careful.", Thinking: llm.Thought{Budget: 2048}, Sessions: session.Memory(),
				Tools: []tool.Tool{reply("Read", strings.Repeat("a line of the file\n", 200)), reply("Grep", strings.Repeat("found ", 50)), reply("mcp__x__y", "y"), reply("Skill", "s"), reply("Agent", "a")},
				Context: func(context.Context, agent.Place) []agent.Note {
					return []agent.Note{{ID: "n", Text: strings.Repeat("Always test. ", 100)}}
				}}
			s := a.Session("")
			defer s.Close()
			if u, err := s.ContextUsage(t.Context()); err != nil || u.Tokens != 0 || len(u.Categories) != 0 {
				t.Errorf("before a prompt: %+v, %v", u, err)
			}
			if _, err := s.Prompt(t.Context(), "Look at it."); err != nil {
				t.Fatal(err)
			}
			u, err := s.ContextUsage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var all engine.ContextUsage // as it is shown
			if data, err := json.Marshal(u); err != nil || json.Unmarshal(data, &all) != nil {
				t.Fatalf("%s, %v", data, err)
			}
			if all.Counted != tt.want || u.Counted != string(tt.want) || u.Window == 0 || u.Window != all.Window || u.Tokens != all.Tokens || u.Free+all.Reserve+u.Tokens != u.Window {
				t.Fatalf("%+v", u)
			}
			sum := 0
			var names []string
			for _, c := range all.Categories {
				sum += c.Tokens
				names = append(names, c.Name)
				if c.Tokens <= 0 || c.Count <= 0 || u.Categories[c.Name] != c.Tokens {
					t.Errorf("%+v", c)
				}
			}
			if again, err := s.ContextUsage(t.Context()); err != nil || again.Tokens != u.Tokens {
				t.Errorf("once more: %+v, %v", again, err)
			}
			if sum != u.Tokens || len(u.Categories) != len(names) {
				t.Errorf("the categories sum up to %d of %d", sum, u.Tokens)
			}
			if want := []string{"system", "tools", "mcp", "skills", "agents", "instructions", "files", "results", "thinking", "messages"}; !slices.Equal(names, want) {
				t.Errorf("categories %v", names)
			}
			if all.Heaviest[0].Name != "Read" || all.Heaviest[0].Count != 2 {
				t.Errorf("heaviest: %+v", all.Heaviest)
			}
			if name == "by the last answer's usage" && (u.Tokens < 4010 || u.Tokens > 4100) {
				t.Errorf("%d tokens", u.Tokens)
			}
		})
	}
}

// uncounted has no end point that counts, and is asked for it once.
type uncounted struct {
	t *testing.T
	http.RoundTripper
	asked *int
}

func (u uncounted) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/input_tokens") {
		return u.RoundTripper.RoundTrip(r)
	}
	if *u.asked++; *u.asked > 1 {
		u.t.Errorf("asked %d times", *u.asked)
	}
	return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Request: r, Body: http.NoBody}, nil
}
