package modelcall_test

import (
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/modelcall"
	"github.com/openagent-go/agent/llm"
)

func TestThought(t *testing.T) {
	for _, test := range []struct {
		thought llm.Thought
		tokens  int
		legal   bool
	}{
		{llm.Thought{}, 0, true}, {llm.Thought{Effort: "low"}, 1024, true}, {llm.Thought{Effort: "max"}, 32768, true}, {llm.Thought{Budget: 7, Effort: "max"}, 7, true},
		{llm.Thought{Mode: llm.ThinkAdaptive}, 10240, true}, {llm.Thought{Mode: llm.ThinkAdaptive, Effort: "low"}, 1024, true}, {llm.Thought{Mode: llm.ThinkOff}, 0, true},
		{llm.Thought{Mode: llm.ThinkOff, Effort: "low"}, 0, false}, {llm.Thought{Mode: llm.ThinkOff, Budget: 1}, 0, false},
		{llm.Thought{Mode: "deep"}, 0, false}, {llm.Thought{Budget: -1}, 0, false}, {llm.Thought{Budget: -1, Effort: "low"}, 1024, false},
	} {
		if test.thought.Tokens() != test.tokens || test.thought.On() != (test.tokens > 0) {
			t.Errorf("%+v: %d tokens", test.thought, test.thought.Tokens())
		}
		if err := modelcall.CheckThought(test.thought); (err == nil) != test.legal {
			t.Errorf("%+v: %v", test.thought, err)
		}
	}
	if err := modelcall.CheckThought(llm.Thought{Effort: "some"}); err == nil {
		t.Error("an unknown effort is taken")
	}
}

func TestCache(t *testing.T) {
	for _, test := range []struct {
		cache       llm.Cache
		hour, legal bool
	}{
		{llm.Cache{}, false, true}, {llm.Cache{TTL: 5 * time.Minute}, false, true}, {llm.Cache{TTL: time.Hour}, true, true},
		{llm.Cache{Off: true, TTL: time.Hour}, false, true}, {llm.Cache{TTL: time.Minute}, false, false},
	} {
		if err := modelcall.CheckCache(test.cache); (err == nil) != test.legal || modelcall.KeepsHour(test.cache) != test.hour {
			t.Errorf("%+v: an hour: %v, %v", test.cache, modelcall.KeepsHour(test.cache), err)
		}
	}
}

// The tokens of a request are those of its parts and a fixed overhead.
func TestTokens(t *testing.T) {
	tool := llm.Tool{Name: "add", Description: "adds two numbers", Input: []byte(`{"type":"object"}`)}
	content := llm.Blocks{llm.Text{Text: "What is the sum of 1 and 2?"}, llm.ToolUse{ID: "a", Name: "add", Input: []byte(`{"a":1,"b":2}`)}}
	r := llm.Request{Tools: []llm.Tool{tool}, Messages: []llm.Message{{Role: llm.User, Content: content}}}
	parts := modelcall.ToolTokens(tool) + modelcall.Tokens(content)
	if parts < 20 || r.Estimate() != 3+4+parts {
		t.Errorf("%d tokens of parts, %d of the request", parts, r.Estimate())
	}
}
