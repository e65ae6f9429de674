package tokens_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/tokens"
	"github.com/openagent-go/agent/internal/wire/wiretest"
	"github.com/openagent-go/agent/llm"
)

// TestTokensOfRecordedAnswers holds the estimate against what providers counted for
// answers that are text alone. docs/cost.md has the figures.
func TestTokensOfRecordedAnswers(t *testing.T) {
	var off []float64
	byProvider := map[string][]float64{}
	for _, api := range []string{"anthropic", "openai"} {
		for _, item := range wiretest.Items(t, api) {
			e := item.Expected
			reasoned := e.Usage.Reasoning != nil && *e.Usage.Reasoning > 0 || e.Thinking != "" || len(e.Extras.Encrypted) > 0
			if reasoned || len(e.Calls) > 0 || len(e.Text) < 60 || e.Usage.Output == 0 || strings.Contains(item.Name, "WebSearch") {
				continue
			}
			got := tokens.Count(e.Text) + 3
			d := float64(got)/float64(e.Usage.Output) - 1
			off = append(off, math.Abs(d))
			byProvider[item.Provider] = append(byProvider[item.Provider], d)
			if testing.Verbose() && math.Abs(d) > 0.3 {
				t.Logf("%+.0f%%: %d for %d: %s: %.120q", 100*d, got, e.Usage.Output, item.Name, e.Text)
			}
			if most := tokens.AtMost(e.Text) + 12; most < e.Usage.Output {
				t.Errorf("%s: at most %d, counted %d: %q", item.Name, most, e.Usage.Output, e.Text)
			}
		}
	}
	slices.Sort(off)
	for p, list := range byProvider {
		slices.Sort(list)
		t.Logf("%-12s %3d answers, median %+.0f%%, from %+.0f%% to %+.0f%%", p, len(list), 100*list[len(list)/2], 100*list[0], 100*list[len(list)-1])
	}
	if off[len(off)/2] > 0.10 || off[len(off)*9/10] > 0.30 {
		t.Errorf("the estimate is further off than docs/cost.md says")
	}
	t.Logf("%d answers: off by %.0f%% in the median, %.0f%% at the 90th percentile", len(off), 100*off[len(off)/2], 100*off[len(off)*9/10])
}

// A request is estimated as a whole, with what providers put around tools.
func TestEstimateOfRecordedRequests(t *testing.T) {
	byProvider := map[string][]float64{}
	for _, api := range []string{"anthropic", "openai"} {
		for _, item := range wiretest.Items(t, api) {
			e := item.Expected
			var body map[string]json.RawMessage
			if json.Unmarshal(item.Request, &body) != nil || strings.Contains(string(item.Request), "base64") || strings.Contains(item.Name, "WebSearch") || strings.Contains(item.Name, "omputer") {
				continue
			}
			req := recordedRequest(body)
			got := req.Estimate()
			claude := api == "anthropic"
			if claude && len(req.Tools) > 0 {
				got += tokens.ClaudeTools
				if !strings.Contains(item.Name, "-4-5") && !strings.Contains(item.Name, "-4-6") {
					got -= 170
				}
			}
			counted := e.Usage.Input + e.Usage.CacheRead + e.Usage.CacheWrite
			if counted == 0 {
				continue
			}
			d := float64(got)/float64(counted) - 1
			byProvider[item.Provider] = append(byProvider[item.Provider], d)
			if claude && math.Abs(d) > 0.25 {
				t.Errorf("%s: %d estimated, %d counted", item.Name, got, counted)
			}
			if testing.Verbose() {
				t.Logf("%5d %5d %s", got, counted, item.Name)
			}
		}
	}
	for p, list := range byProvider {
		slices.Sort(list)
		t.Logf("%-12s %3d requests, median %+.0f%%, from %+.0f%% to %+.0f%%", p, len(list), 100*list[len(list)/2], 100*list[0], 100*list[len(list)-1])
	}
}

// recordedRequest makes a request of a body of either API, for its size alone.
func recordedRequest(body map[string]json.RawMessage) *llm.Request {
	r := &llm.Request{}
	var system any
	_ = json.Unmarshal(body["system"], &system)
	r.System = texts(system)
	var tools []struct {
		Name, Description string
		Schema            json.RawMessage `json:"input_schema"`
		Function          struct {
			Name, Description string
			Parameters        json.RawMessage
		}
	}
	_ = json.Unmarshal(body["tools"], &tools)
	for _, tool := range tools {
		if tool.Function.Name != "" {
			r.Tools = append(r.Tools, llm.Tool{Name: tool.Function.Name, Description: tool.Function.Description, Input: tool.Function.Parameters})
		} else {
			r.Tools = append(r.Tools, llm.Tool{Name: tool.Name, Description: tool.Description, Input: tool.Schema})
		}
	}
	var messages []struct {
		Role    llm.Role
		Content any
		Calls   []struct {
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	_ = json.Unmarshal(body["messages"], &messages)
	for _, m := range messages {
		out := llm.Message{Role: m.Role, Content: llm.Blocks{}}
		for _, c := range m.Calls {
			out.Content = append(out.Content, llm.ToolUse{Name: c.Function.Name, Input: json.RawMessage(c.Function.Arguments)})
		}
		switch c := m.Content.(type) {
		case string:
			out.Content = append(out.Content, llm.Text{Text: c})
		case []any:
			for _, b := range c {
				b := b.(map[string]any)
				switch b["type"] {
				case "tool_use":
					input, _ := json.Marshal(b["input"])
					out.Content = append(out.Content, llm.ToolUse{Name: b["name"].(string), Input: input})
				case "tool_result":
					out.Content = append(out.Content, llm.ToolResult{Content: llm.Blocks{llm.Text{Text: texts(b["content"])}}})
				case "thinking":
					out.Content = append(out.Content, llm.Thinking{Text: texts(b["thinking"])})
				default:
					out.Content = append(out.Content, llm.Text{Text: texts(b["text"])})
				}
			}
		}
		r.Messages = append(r.Messages, out)
	}
	return r
}

func texts(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		s := ""
		for _, e := range v {
			s += texts(e)
		}
		return s
	case map[string]any:
		return texts(v["text"])
	}
	return ""
}
