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
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
)

// A Kind is the kind of a span.
type Kind string

const (
	Run        Kind = "run"        // from a prompt to its end, or from a resumption
	Model      Kind = "model"      // one request to a model; each try has its own
	Tool       Kind = "tool"       // one call, while it runs
	Hook       Kind = "hook"       // the hooks of one event
	Permission Kind = "permission" // a question to the user about a call
	Question   Kind = "question"   // a question of a tool to the user
	RateLimit  Kind = "rate_limit" // a request waits for its turn
	Compaction Kind = "compaction" // of the conversation; its name is its trigger
	Checkpoint Kind = "checkpoint" // files are kept
)

// A Span is a piece of work that begins.
type Span struct {
	Kind    Kind
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
	Origin  context.Context

	// Content, which may be private: of a model and of a tool. It is not to be changed,
	// and not to be looked at once the span has ended.
	Request *llm.Request
	Input   json.RawMessage
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

// EndOf turns a fact into the end of a span.
func EndOf(f event.Fact) End {
	e := End{Fact: f}
	switch f := f.(type) {
	case nil:
		e.Error = "unfinished"
	case event.ModelFailed:
		e.Error, e.Message = string(f.Class), f.Message
	case event.ToolResult:
		e.fail(f.Result.IsError, string(f.Cause), string(f.Fault))
	case fact.ToolDone:
		e.fail(f.Result.IsError, string(f.Cause), string(f.Fault))
	case fact.Checkpointed:
		if f.Error != "" {
			e.Error, e.Message = "error", f.Error
		}
	case event.Compacted:
		if f.Failed != "" {
			e.Error, e.Message = "error", f.Failed
		}
	case event.RunEnd:
		switch f.Reason {
		case event.Completed, event.ToolEnded, event.MaxTokens, event.Suspended:
		default:
			e.Error, e.Message = string(f.Reason), f.Message
		}
	}
	return e
}

// fail reports the failure of a tool. The text of its result is content.
func (e *End) fail(failed bool, cause, fault string) {
	if !failed {
		return
	}
	e.Error = "error"
	if cause != "" {
		e.Error = cause
	}
	if fault != "" {
		e.Error = fault
	}
}

// Attributes describe a span and its end, without content. [Recorder] writes them, and
// journals are read for the same. Times are in seconds.
func Attributes(s *Span, e *End) map[string]any {
	a := map[string]any{}
	set := func(key string, value any) {
		switch v := value.(type) {
		case string:
			if v == "" {
				return
			}
		case int:
			if v == 0 {
				return
			}
		case time.Duration:
			if v <= 0 {
				return
			}
			value = v.Seconds()
		case *float64:
			if v == nil {
				return
			}
			value = *v
		}
		a[key] = value
	}
	usage := func(u llm.Usage, cost *float64) {
		set("input_tokens", u.Input)
		set("output_tokens", u.Output)
		set("cache_read_tokens", u.CacheRead)
		set("cache_write_tokens", u.CacheWrite)
		set("reasoning_tokens", u.Reasoning)
		set("cost_usd", cost)
	}
	set("provider", s.Provider)
	set("tries", s.Tries)
	set("call", s.Call)
	set("tool_id", s.ToolID)
	if s.Resumed {
		set("resumed", true)
	}
	if s.Request != nil {
		set("max_tokens", s.Request.MaxTokens)
		set("messages", len(s.Request.Messages))
	}
	switch f := e.Fact.(type) {
	case event.AssistantMessage:
		set("response_model", f.Response.Model)
		set("response_id", f.Response.ID)
		set("request_id", f.Response.RequestID)
		set("stop", string(f.Response.Stop))
		set("calls", len(f.Response.Message.ToolUses()))
		set("first", f.First)
		usage(f.Response.Usage, f.CostUSD)
	case event.ModelFailed:
		set("status", f.Status)
		set("request_id", f.RequestID)
		if f.Retry {
			set("retry", true)
		}
		usage(f.Usage, f.CostUSD)
	case fact.ToolAmended:
		if s.Kind == Model {
			usage(f.Usage, f.CostUSD)
		}
	case event.Compacted:
		set("model", f.Model)
		set("before", f.Before)
		set("after", f.After)
		usage(f.Usage, f.CostUSD)
	case fact.Answered:
		set("behavior", string(f.Decision.Behavior))
		set("source", string(f.Decision.Source))
		set("by", f.Decision.By)
		if !f.Decision.Expires.IsZero() {
			set("expires", f.Decision.Expires.UTC().Format(time.RFC3339))
		}
	case event.RunEnd:
		set("reason", string(f.Reason))
		set("turns", f.Turns)
		set("model_calls", f.ModelCalls)
		usage(f.Usage, f.CostUSD)
	}
	return a
}
