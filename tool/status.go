package tool

import (
	"context"
	"encoding/json"
)

// A Status is a tool's report about a call for people: while its input is being written,
// and while it runs. Reports of one call add up: members of Params and Metadata are merged,
// the other fields replace the earlier ones.
type Status struct {
	Text string `json:"text,omitempty"` // a line: the latest output, or the current step
	// Tail is the end of a command's output: lines, the newest last. Five of them are shown.
	Tail     []string                   `json:"tail,omitempty"`
	Percent  float64                    `json:"percent,omitempty"` // 0 to 100, 0 when unknown
	Params   map[string]json.RawMessage `json:"params,omitempty"`
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
}

type progressKey struct{}

// WithProgress returns a context in which [Progress] calls fn.
func WithProgress(ctx context.Context, fn func(Status)) context.Context {
	return context.WithValue(ctx, progressKey{}, fn)
}

// Progress reports the state of the tool's work. Without a listener it does nothing.
func Progress(ctx context.Context, s Status) {
	if fn, ok := ctx.Value(progressKey{}).(func(Status)); ok {
		fn(s)
	}
}
