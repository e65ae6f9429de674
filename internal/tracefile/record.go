// Package tracefile holds the spans of trace files: their JSON, and how a journal yields them.
package tracefile

import (
	"cmp"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
)

// Version is the version of the format.
const Version = 1

// maxMessage bounds the message in a record, in bytes.
const maxMessage = 500

// A Record is a span in a trace: one line of JSON.
type Record struct {
	Version  int        `json:"v"`
	Trace    string     `json:"trace"`
	Span     string     `json:"span"`
	Parent   string     `json:"parent,omitempty"`
	Kind     string     `json:"kind"`
	Name     string     `json:"name,omitempty"`
	Session  string     `json:"session"`
	Agent    string     `json:"agent,omitempty"`
	Key      string     `json:"key,omitempty"`
	Start    time.Time  `json:"start"`
	Duration float64    `json:"duration_ms"`
	Error    string     `json:"error,omitempty"`
	Message  string     `json:"message,omitempty"` // with Error
	Attrs    Attributes `json:"attributes,omitempty"`
	// With trace.Recorder.Content: the input and the output.
	Input  string `json:"input,omitempty"`
	Output string `json:"output,omitempty"`
}

// End sets the end of a span: how long it took, the kind of its failure and the message.
func (r *Record) End(took time.Duration, failure, message string) {
	r.Duration = float64(took.Microseconds()) / 1000
	r.Error, r.Message = failure, text.Bytes(message, maxMessage)
}

// Failure returns the kind of the failure that a fact records, and its message; "" for
// success, "unfinished" for nil.
func Failure(f event.Fact) (kind, message string) {
	switch f := f.(type) {
	case nil:
		return "unfinished", ""
	case event.ModelFailed:
		return string(f.Class), f.Message
	case event.ToolResult:
		return failureOfTool(f.Result.IsError, string(f.Cause), string(f.Fault)), ""
	case fact.ToolDone:
		return failureOfTool(f.Result.IsError, string(f.Cause), string(f.Fault)), ""
	case fact.Checkpointed:
		if f.Error != "" {
			return "error", f.Error
		}
	case event.Compacted:
		if f.Failed != "" {
			return "error", f.Failed
		}
	case event.RunEnd:
		switch f.Reason {
		case event.Completed, event.ToolEnded, event.MaxTokens, event.Suspended:
		default:
			return string(f.Reason), f.Message
		}
	}
	return "", ""
}

// failureOfTool leaves out the text of the result, which is content.
func failureOfTool(failed bool, cause, fault string) string {
	if !failed {
		return ""
	}
	return cmp.Or(fault, cause, "error")
}

// Attributes describe a span and its end, without content. Times are in seconds.
type Attributes map[string]any

// Set adds an attribute, unless its value is empty.
func (a Attributes) Set(key string, value any) {
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

func (a Attributes) usage(u llm.Usage, cost *float64) {
	a.Set("input_tokens", u.Input)
	a.Set("output_tokens", u.Output)
	a.Set("cache_read_tokens", u.CacheRead)
	a.Set("cache_write_tokens", u.CacheWrite)
	a.Set("reasoning_tokens", u.Reasoning)
	a.Set("cost_usd", cost)
}

// Describe adds the attributes of the fact at the end of a span.
func (a Attributes) Describe(kind string, f event.Fact) {
	switch f := f.(type) {
	case event.AssistantMessage:
		a.Set("response_model", f.Response.Model)
		a.Set("response_id", f.Response.ID)
		a.Set("request_id", f.Response.RequestID)
		a.Set("stop", string(f.Response.Stop))
		a.Set("calls", len(f.Response.Message.ToolUses()))
		a.Set("first", f.First)
		a.usage(f.Response.Usage, f.CostUSD)
	case event.ModelFailed:
		a.Set("status", f.Status)
		a.Set("request_id", f.RequestID)
		if f.Retry {
			a.Set("retry", true)
		}
		a.usage(f.Usage, f.CostUSD)
	case fact.ToolAmended:
		if kind == kindModel {
			a.usage(f.Usage, f.CostUSD)
		}
	case event.Compacted:
		a.Set("model", f.Model)
		a.Set("before", f.Before)
		a.Set("after", f.After)
		a.usage(f.Usage, f.CostUSD)
	case fact.Answered:
		a.Set("behavior", string(f.Decision.Behavior))
		a.Set("source", string(f.Decision.Source))
		a.Set("by", f.Decision.By)
		if !f.Decision.Expires.IsZero() {
			a.Set("expires", f.Decision.Expires.UTC().Format(time.RFC3339))
		}
	case event.RunEnd:
		a.Set("reason", string(f.Reason))
		a.Set("turns", f.Turns)
		a.Set("model_calls", f.ModelCalls)
		a.usage(f.Usage, f.CostUSD)
	}
}
