package trace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/tracefile"
	"github.com/openagent-go/agent/llm"
)

const (
	maxContent = 4 << 10 // bounds an input or output in a record, in bytes
	defaultMax = 64 << 20
)

// A Recorder writes spans as lines of JSON, each when it has ended, so that a span
// comes after those within it. Its Trace method is a [Func]. Close it.
//
// A line is an object with "v" (1), "trace", "span", "parent", "kind" (a [Kind]), "name",
// "session", "agent", "key", "start" (a time), "duration_ms", "error" and "message" (as in
// [End]), "attributes" (an object), "input" and "output" (with Content). Empty ones are left out.
// A last line with "dropped" counts the spans beyond 64 MB.
type Recorder struct {
	// Content adds inputs and outputs of models and tools, 4 KB of each: as the session
	// has them on record, which may be private.
	Content bool

	mu      sync.Mutex
	most    int64 // bytes to write; 0: 64 MB
	w       io.Writer
	closer  io.Closer
	written int64
	dropped int
	err     error
	closed  bool
}

// NewRecorder returns a recorder that writes to w, one record a call.
func NewRecorder(w io.Writer) *Recorder { return &Recorder{w: w} }

// Create returns a recorder that appends to a file that only its owner may read. It refuses
// a link, and a file of another user.
func Create(name string) (*Recorder, error) {
	f, err := plainfile.Append(name)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	return &Recorder{w: f, closer: f}, nil
}

// Close says how many spans were dropped, if any, closes the file and returns the
// first error of writing. Spans that end later are dropped.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	if r.dropped > 0 && r.err == nil {
		_, r.err = fmt.Fprintf(r.w, "{\"v\":%d,\"dropped\":%d}\n", tracefile.Version, r.dropped)
	}
	if r.closer != nil {
		r.err = errors.Join(r.err, r.closer.Close())
	}
	return r.err
}

type spanKey struct{}

// parent is where a span lies, for those within it.
type parent struct{ trace, span string }

// Trace implements [Func].
func (r *Recorder) Trace(ctx context.Context, s Span) (context.Context, func(End)) {
	rec := tracefile.Record{Version: tracefile.Version, Kind: string(s.Kind), Name: s.Name, Session: s.Session, Agent: s.Agent, Key: s.Key, Span: newID(8), Start: time.Now().UTC()}
	up, ok := ctx.Value(spanKey{}).(parent)
	if !ok && s.Origin != nil {
		up, ok = s.Origin.Value(spanKey{}).(parent)
	}
	if rec.Trace, rec.Parent = up.trace, up.span; !ok {
		rec.Trace = newID(16)
	}
	if r.Content {
		rec.Input = inputOf(&s)
	}
	begun := time.Now()
	return context.WithValue(ctx, spanKey{}, parent{rec.Trace, rec.Span}), func(e End) {
		rec.End(time.Since(begun), e.Error, e.Message)
		rec.Attrs = attributes(&s, e.Fact)
		if r.Content {
			rec.Output = outputOf(e.Fact)
		}
		r.write(&rec)
	}
}

func (r *Recorder) write(rec *tracefile.Record) {
	line, err := json.Marshal(rec)
	line = append(line, '\n')
	most := r.most
	if most <= 0 {
		most = defaultMax
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed || r.err != nil:
		return
	case err != nil:
		r.err = err
		return
	case r.written+int64(len(line)) > most:
		r.dropped++
		return
	}
	n, err := r.w.Write(line)
	r.written += int64(n)
	r.err = err
}

func newID(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// attributes describe a span and the fact at its end, without content.
func attributes(s *Span, f event.Fact) tracefile.Attributes {
	a := tracefile.Attributes{}
	a.Set("provider", s.Provider)
	a.Set("tries", s.Tries)
	a.Set("call", s.Call)
	a.Set("tool_id", s.ToolID)
	if s.Resumed {
		a.Set("resumed", true)
	}
	if s.Request != nil {
		a.Set("max_tokens", s.Request.MaxTokens)
		a.Set("messages", len(s.Request.Messages))
	}
	a.Describe(string(s.Kind), f)
	return a
}

// inputOf is the input of a span.
func inputOf(s *Span) string {
	if s.Input != nil {
		return text.Bytes(string(s.Input), maxContent)
	}
	if s.Request == nil || len(s.Request.Messages) == 0 {
		return ""
	}
	return text.Bytes(textOf(s.Request.Messages[len(s.Request.Messages)-1].Content), maxContent)
}

// outputOf is the output of a span.
func outputOf(f event.Fact) string {
	switch f := f.(type) {
	case event.AssistantMessage:
		return text.Bytes(textOf(f.Response.Message.Content), maxContent)
	case event.ToolResult:
		return text.Bytes(f.Result.Text(), maxContent)
	case fact.ToolDone:
		return text.Bytes(f.Result.Text(), maxContent)
	case event.RunEnd:
		return text.Bytes(f.Text, maxContent)
	}
	return ""
}

func textOf(bs llm.Blocks) string {
	var b strings.Builder
	for _, c := range bs {
		switch c := c.(type) {
		case llm.Text:
			b.WriteString(c.Text)
		case llm.ToolUse:
			fmt.Fprintf(&b, "[%s %s]", c.Name, c.Input)
		case llm.ToolResult:
			b.WriteString(c.Content.Text())
		}
		if b.Len() > maxContent {
			break
		}
	}
	return b.String()
}
