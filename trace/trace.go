// Package trace shows the work of your agents as spans, while it happens: runs, calls of
// models and tools, hooks, and waits. A [Func] gets the beginning and the end of each. A
// [Recorder] writes them to a file. The module github.com/openagent-go/agent/otel has a
// Func for OpenTelemetry.
//
//	spans, err := trace.Create("run.jsonl")
//	defer spans.Close()
//	a.Trace = spans.Trace
package trace

import (
	"context"
	"encoding/json"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
)

// A Kind is the kind of a span:
//
//   - "run": from a prompt to its end, or from a resumption
//   - "model": one request to a model; each try has its own
//   - "tool": one call, while it runs
//   - "rate_limit": a request waits for its turn
//   - "hook": the hooks of one event
//   - "permission": a question to the user about a call
//   - "question": a question of a tool to the user
//   - "checkpoint": files that are saved
//   - "compaction": one of the conversation; its name is its trigger
type Kind string

// A Span is a piece of work that begins.
type Span struct {
	Kind    Kind   // what the span covers
	Name    string // of the model, the tool, the hook event, the reason for the wait
	Key     string // of what is done, as the facts of the session have it; "" for runs
	Session string
	Root    string // session at the root of the tree of agents; Session for that itself
	Agent   string // name

	Provider string // of a model
	Tries    int    // of a model: how many have failed before
	Call     string // of a tool: the id of the call that it is about
	ToolID   string // likewise, the provider's

	// Of a run: that it continues with one that was cut short, and, for an agent in the
	// background, the context of the call that has started it.
	Resumed bool
	Origin  context.Context // the context of the call that began the run

	// Content, which may be private: of a model and of a tool. It is not to be changed,
	// and not to be looked at once the span has ended.
	Request *llm.Request
	Input   json.RawMessage // of a tool
}

// An End is the result of a span.
type End struct {
	// Error is the kind of the failure: an [llm.Class], an [event.EndReason], "error" for a
	// result that is an error; "" for success. Message is the error in words; tools have
	// none, because their results are content.
	Error   string
	Message string
	// Fact is the recorded fact, such as an [event.AssistantMessage] with usage, cost and
	// the time to the first delta; nil if there is none.
	Fact event.Fact
}

// A Func is called at the beginning of a span. It returns the context for the work, so that
// spans nest, and a function for the end of the span, which may be nil. Many goroutines
// call it at once; it should return quickly.
type Func func(ctx context.Context, s Span) (context.Context, func(End))

// Join returns a Func that tells all of fns.
func Join(fns ...Func) Func {
	return func(ctx context.Context, s Span) (context.Context, func(End)) {
		ends := make([]func(End), 0, len(fns))
		for _, fn := range fns {
			if fn == nil {
				continue
			}
			var end func(End)
			if ctx, end = fn(ctx, s); end != nil {
				ends = append(ends, end)
			}
		}
		return ctx, func(e End) {
			for i := len(ends) - 1; i >= 0; i-- {
				ends[i](e)
			}
		}
	}
}
