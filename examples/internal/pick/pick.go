// Package pick chooses the model of an example.
package pick

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
)

// Model returns a model of Anthropic's when ANTHROPIC_API_KEY is set, else one
// that plays the given steps, so that the examples run without a key.
func Model(steps ...llmtest.Step) llm.Model {
	if os.Getenv("ANTHROPIC_API_KEY") != "" {
		return anthropic.Model("claude-sonnet-4-6")
	}
	return llmtest.Script(steps...)
}

// A Part answers the requests of a conversation.
type Part func(r *llmtest.Request) llmtest.Step

// Steps is a part that answers with steps, one after the other.
func Steps(steps ...llmtest.Step) Part {
	var n atomic.Int32
	return func(*llmtest.Request) llmtest.Step {
		if i := int(n.Add(1)); i <= len(steps) {
			return steps[i-1]
		}
		return llmtest.Fail(errors.New("the part has no more steps"))
	}
}

// Cast returns a model of Anthropic's when ANTHROPIC_API_KEY is set, else one for
// several agents at once: a conversation is answered by the part whose key its first
// message begins with. Requests go through the client to a server in memory that
// refuses what Anthropic would refuse.
func Cast(parts map[string]Part) llm.Model {
	if os.Getenv("ANTHROPIC_API_KEY") != "" {
		return anthropic.Model("claude-sonnet-4-6")
	}
	server := &llmtest.Server{Rule: func(r *llmtest.Request, _ int) llmtest.Step {
		first := r.Messages[0].Text()
		for key, part := range parts {
			if strings.HasPrefix(first, key) {
				return part(r)
			}
		}
		return llmtest.Fail(fmt.Errorf("nobody answers %q", first))
	}}
	return (&anthropic.Client{APIKey: "none", BaseURL: "http://llm.test", HTTP: server.Client()}).Model("claude-sonnet-4-6")
}
