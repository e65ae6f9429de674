// Package llmtest stands in for language models: in tests, in demos and wherever you want
// no provider.
//
// A [Step] is the model's answer to one request. [Script] plays steps in process; a
// [Server] plays the same steps through the wire formats of the Anthropic Messages API and
// the OpenAI Chat Completions API, and refuses every request that the real APIs would
// refuse. [RunModelTests] is the suite that a client of these APIs has to pass, and
// [RunContract] that of a model of any protocol. [Replay] answers from a recording of the
// real thing.
package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/openagent-go/agent/llm"
)

// A tb is the part of a testing.TB that this package needs. It is not a testing.TB, because
// programs that play a model need no package testing.
type tb interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// A Rule answers the nth request, counted from 0, where no list of steps does. Several
// goroutines may call it at once. [Steps] and [Cast] make rules.
type Rule func(r *Request, n int) Step

// Say is a step that ends the turn with a text.
func Say(text string) Step { return Step{Text: text} }

// Call is a step that calls tools.
func Call(uses ...llm.ToolUse) Step { return Step{Calls: uses} }

// Use is a tool call. Input is anything that marshals to JSON; an empty id is
// replaced by one that is unique in its server or model. It panics where input
// does not marshal.
func Use(id, name string, input any) llm.ToolUse {
	data, err := json.Marshal(input)
	if err != nil {
		panic(fmt.Sprintf("llmtest: input of %s: %v", name, err))
	}
	return llm.ToolUse{ID: id, Name: name, Input: data}
}

// Fail is a step that fails. A [Model] yields err as it is. A [Server] answers an
// [*llm.APIError] with its status, or the status of its class, and with its type, words and
// RetryAfter (if above 0); classes without a status close the connection. Any other error
// is an invalid request (400). Neither is retried, so a rule can refuse a request with it.
func Fail(err error) Step { return Step{Err: err} }

// Reply is a step that makes its answer from the request.
func Reply(answer func(*llm.Request) llm.Response) Step { return Step{Reply: answer} }

// stepFor returns the step for the nth request.
func stepFor(steps []Step, rule Rule, r *Request, n int) Step {
	if rule == nil || n < len(steps) {
		rule = Steps(steps...)
	}
	step := rule(r, n)
	switch step.Cut {
	case cutClose, cutReset, cutEnd, cutError, cutGarbage:
		return step
	}
	return Fail(fmt.Errorf("llmtest: Step.Cut is %q; it must be empty, %s, %s, %s or %s", step.Cut, cutReset, cutEnd, cutError, cutGarbage))
}

// wait sleeps for d, or until ctx is done, and returns ctx's error then.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
