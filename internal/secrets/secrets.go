// Package secrets removes secret values from everything that is recorded and shown.
package secrets

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/environ"
	"github.com/openagent-go/agent/internal/redact"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// A Holder is a tool or model that knows values which must not be shown.
type Holder interface{ Secrets() []string }

// A Rotating is a model that gets keys while it works: once Fetched has grown, its Secrets are more.
type Rotating interface {
	Holder
	Fetched() int
}

// Redactor replaces values that must not be shown. The zero value knows none.
type Redactor struct {
	mu     sync.Mutex
	known  []string
	values atomic.Pointer[redact.Values]
}

// Text returns a text without the values.
func (s *Redactor) Text(t string) string { return s.Now().Text(t) }

// Now returns the values that are known now.
func (s *Redactor) Now() redact.Values {
	if v := s.values.Load(); v != nil {
		return *v
	}
	return redact.Values{}
}

// Add makes more values known.
func (s *Redactor) Add(values []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = append(s.known, values...)
	s.values.Store(new(redact.New(slices.Clone(s.known))))
}

// Of returns a redactor of the given values, those of the environment, and those that tools
// and models know.
func Of(given []string, pool []tool.Tool, models []llm.Model) *Redactor {
	values := slices.Clone(given)
	values = append(values, environ.Secrets()...)
	for _, t := range pool {
		if s, ok := t.(Holder); ok {
			values = append(values, s.Secrets()...)
		}
	}
	for _, m := range models {
		if s, ok := m.(Holder); ok {
			values = append(values, s.Secrets()...)
		}
	}
	s := new(Redactor)
	s.Add(values)
	return s
}

// Result returns r with clean texts (an escape sequence may hide a secret), without secrets
// in texts, details and state, and without blocks that a result cannot hold. r stays as it
// is, and is returned if there is nothing to change.
func (s *Redactor) Result(r *tool.Result) *tool.Result {
	title, details, state := s.Text(text.Clean(r.Title)), s.Now().JSON(r.Details), s.Now().JSON(r.Patch.State)
	alters := slices.ContainsFunc(r.Content, s.alters)
	if !alters && title == r.Title && string(details) == string(r.Details) && string(state) == string(r.Patch.State) {
		return r
	}
	out := *r
	out.Title, out.Details, out.Patch.State = title, details, state
	if alters {
		out.Content = s.blocks(r.Content)
	}
	return &out
}

// Broken masks the texts in a cache break.
func (s *Redactor) Broken(b event.CacheBroken) event.CacheBroken {
	b.Text, b.Tool, b.Was, b.Is = s.Text(b.Text), s.Text(b.Tool), s.Text(b.Was), s.Text(b.Is)
	return b
}

// alters reports whether blocks would change a block.
func (s *Redactor) alters(b llm.Block) bool {
	switch b := b.(type) {
	case llm.Text:
		return s.Text(text.Clean(b.Text)) != b.Text
	case llm.Image:
		return false
	}
	return true
}

func (s *Redactor) blocks(given llm.Blocks) llm.Blocks {
	var out llm.Blocks
	for _, b := range given {
		switch b := b.(type) {
		case llm.Text:
			out = append(out, llm.Text{Text: s.Text(text.Clean(b.Text))})
		case llm.Document:
			if strings.HasPrefix(b.MediaType, "text/") {
				b.Data = []byte(s.Text(string(b.Data)))
			}
			b.Title = s.Text(b.Title)
			out = append(out, b)
		case llm.Image:
			out = append(out, b)
		}
	}
	return out
}
