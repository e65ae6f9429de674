package agent

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/environ"
	"github.com/openagent-go/agent/internal/redact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// A secretive tool or model knows values that must not be shown.
type secretive interface{ Secrets() []string }

// A keyed model gets keys while it works: once Fetched has grown, its Secrets are more.
type keyed interface {
	secretive
	Fetched() int
}

// redactor replaces what must not be shown. The zero value knows none.
type redactor struct {
	mu     sync.Mutex
	known  []string
	values atomic.Pointer[redact.Values]
}

func (s *redactor) text(t string) string { return s.now().Text(t) }

func (s *redactor) now() redact.Values {
	if v := s.values.Load(); v != nil {
		return *v
	}
	return redact.Values{}
}

// add makes more values known.
func (s *redactor) add(values []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = append(s.known, values...)
	s.values.Store(new(redact.New(slices.Clone(s.known))))
}

func newSecrets(given []string, pool []tool.Tool, models []llm.Model) *redactor {
	values := slices.Clone(given)
	values = append(values, environ.Secrets()...)
	for _, t := range pool {
		if s, ok := t.(secretive); ok {
			values = append(values, s.Secrets()...)
		}
	}
	for _, m := range models {
		if s, ok := m.(secretive); ok {
			values = append(values, s.Secrets()...)
		}
	}
	s := new(redactor)
	s.add(values)
	return s
}

// result returns r with clean texts (an escape sequence may hide a secret),
// without secrets in texts, details and state, and without blocks that are no
// content of a result. r stays as it is, and is returned if there is nothing to
// change.
func (s *redactor) result(r *tool.Result) *tool.Result {
	title, details, state := s.text(tool.Clean(r.Title)), s.now().JSON(r.Details), s.now().JSON(r.Patch.State)
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

// broken masks what a cache's break shows of texts.
func (s *redactor) broken(b event.CacheBroken) event.CacheBroken {
	b.Text, b.Tool, b.Was, b.Is = s.text(b.Text), s.text(b.Tool), s.text(b.Was), s.text(b.Is)
	return b
}

// alters reports whether blocks would change a block.
func (s *redactor) alters(b llm.Block) bool {
	switch b := b.(type) {
	case llm.Text:
		return s.text(tool.Clean(b.Text)) != b.Text
	case llm.Image:
		return false
	}
	return true
}

func (s *redactor) blocks(given llm.Blocks) llm.Blocks {
	var out llm.Blocks
	for _, b := range given {
		switch b := b.(type) {
		case llm.Text:
			out = append(out, llm.Text{Text: s.text(tool.Clean(b.Text))})
		case llm.Document:
			if strings.HasPrefix(b.MediaType, "text/") {
				b.Data = []byte(s.text(string(b.Data)))
			}
			b.Title = s.text(b.Title)
			out = append(out, b)
		case llm.Image:
			out = append(out, b)
		}
	}
	return out
}
