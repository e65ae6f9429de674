package agent_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/tracefile"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/trace"
)

// No secret is in a trace, as it is recorded and as it is built from the journal,
// any part that tells it: a provider, a tool, its panic, a hook, a callback, the model in
// the name of a tool. With Content it is in no inputs and results of tools either.
func TestTraceSecrets(t *testing.T) {
	const secret = "hunter2hunter2"
	blurt := func(name string, fn func() (*tool.Result, error)) tool.Tool {
		return tool.New(tool.Spec{Name: name}, func(context.Context, tool.Call, struct {
			Word string `json:"word,omitempty"`
		}) (*tool.Result, error) {
			return fn()
		})
	}
	for _, content := range []bool{false, true} {
		var out bytes.Buffer
		rec := trace.NewRecorder(&out)
		rec.Content = content
		store := session.Memory()
		word := map[string]string{"word": secret}
		a := &agent.Agent{Secrets: []string{secret}, Trace: rec.Trace, Sessions: store, Retry: &agent.Retry{Base: time.Millisecond, Tries: 2},
			Model: llmtest.Script(
				llmtest.Step{Err: &llm.APIError{Class: llm.Overloaded, Status: 529, Message: secret + " is busy", Type: secret, RetryAfter: -1}},
				llmtest.Call(llmtest.Use("", "says", word), llmtest.Use("", "fails", word), llmtest.Use("", "breaks", word), llmtest.Use("", "panics", word), llmtest.Use("", "denied", word), llmtest.Use("", "hooked", word), llmtest.Use("", secret, word)),
				llmtest.Step{Err: &llm.APIError{Class: llm.Invalid, Status: 400, Message: "no " + secret, RetryAfter: -1}}),
			Tools: []tool.Tool{
				blurt("says", func() (*tool.Result, error) { return tool.Text(secret), nil }),
				blurt("fails", func() (*tool.Result, error) { return tool.Errorf("%s", secret), nil }),
				blurt("breaks", func() (*tool.Result, error) { return nil, errors.New(secret) }),
				blurt("panics", func() (*tool.Result, error) { panic(secret) }),
				blurt("denied", func() (*tool.Result, error) { return tool.Text("never"), nil }),
				blurt("hooked", func() (*tool.Result, error) { return tool.Text("never"), nil })},
			Hooks: []hook.Hook{{On: hook.PreToolUse, Match: "hooked", Func: func(context.Context, *hook.Input) (hook.Output, error) {
				return hook.Output{Block: true, Reason: secret}, nil
			}}},
			CanUseTool: func(_ context.Context, call tool.Call, _ permission.Decision) (permission.Decision, error) {
				if call.Name == "denied" {
					return permission.Deny(secret), nil
				}
				return permission.Allow(), nil
			}}
		s := a.Session("s")
		for range s.Stream(t.Context(), "go") {
		}
		s.Close()
		if n := strings.Count(out.String(), "\n"); n < 8 {
			t.Fatalf("%d spans:\n%s", n, &out)
		}
		var built bytes.Buffer
		facts := history(t, store, "s")
		if err := tracefile.Write(&built, tracefile.Build("s", facts, func(string, string) []event.Event { return nil })); err != nil {
			t.Fatal(err)
		}
		if !content && strings.Contains(built.String(), secret) {
			t.Errorf("the journal's trace has it:\n%s", &built)
		}
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, secret) && !(content && strings.Contains(line, `"kind":"model"`)) {
				t.Errorf("content %v: %s", content, line)
			}
		}
	}
}
