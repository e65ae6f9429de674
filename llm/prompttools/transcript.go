package prompttools

import (
	"fmt"
	"strings"
	"sync"

	"github.com/openagent-go/agent/llm"
)

// A transcript caches the converted messages of a [llm.Memo], so that they are the same
// from one request to the next.
type transcript struct {
	mu    sync.Mutex
	seen  []identity
	out   []llm.Message
	names map[string]string // of the tools called, by id
	memo  *llm.Memo
}

// identity tells a message from another without reading it.
type identity struct {
	role  llm.Role
	first *llm.Block
	n     int
}

func identify(m llm.Message) identity {
	id := identity{role: m.Role, n: len(m.Content)}
	if id.n > 0 {
		id.first = &m.Content[0]
	}
	return id
}

// plain returns the messages without calls and results, and the memo for them.
func (t *transcript) plain(msgs []llm.Message, fence string) ([]llm.Message, *llm.Memo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for n < len(t.seen) && n < len(msgs) && t.seen[n] == identify(msgs[n]) {
		n++
	}
	if n < len(t.seen) || t.memo == nil {
		n, t.seen, t.out, t.names, t.memo = 0, nil, nil, map[string]string{}, &llm.Memo{}
	}
	for _, m := range msgs[n:] {
		t.seen = append(t.seen, identify(m))
		t.out = append(t.out, t.message(m, fence))
	}
	return t.out[:len(t.out):len(t.out)], t.memo
}

func (t *transcript) message(m llm.Message, fence string) llm.Message {
	out := llm.Message{Role: m.Role}
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			out.Content = append(out.Content, llm.Text{Text: text.String()})
			text.Reset()
		}
	}
	paragraph := func(s string) {
		if text.Len() > 0 {
			text.WriteString("\n\n")
		}
		text.WriteString(s)
	}
	for _, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			if m.Role == llm.User {
				b.Text = without(b.Text, fence)
			}
			paragraph(strings.TrimRight(b.Text, "\n"))
		case llm.ToolUse:
			t.names[b.ID] = b.Name
			input := string(b.Input)
			if b.Invalid != "" {
				input = b.Invalid
			}
			paragraph("```" + fence + " " + b.Name + "\n" + strings.TrimSpace(input) + "\n```")
		case llm.ToolResult:
			var more llm.Blocks
			s := t.result(b, fence, &more)
			paragraph(s)
			if len(more) > 0 {
				flush()
				out.Content = append(out.Content, more...)
			}
		default:
			flush()
			out.Content = append(out.Content, plainBlock(b, fence))
		}
	}
	flush()
	return out
}

// result returns a result as text, and adds other blocks to more.
func (t *transcript) result(r llm.ToolResult, fence string, more *llm.Blocks) string {
	var said []string
	for _, b := range r.Content {
		if text, ok := b.(llm.Text); ok {
			said = append(said, text.Text)
		} else {
			*more = append(*more, plainBlock(b, fence))
		}
	}
	text := strings.ReplaceAll(without(strings.Join(said, "\n"), fence), resultEnd, "</tool result>")
	switch {
	case strings.TrimSpace(text) == "" && len(*more) > 0:
		text = "(see below)"
	case strings.TrimSpace(text) == "":
		text = "(no output)"
	}
	kind := "Result"
	if r.IsError {
		kind = "Error"
	}
	return fmt.Sprintf("%s of the tool %s:\n<tool_result>\n%s\n"+resultEnd, kind, t.names[r.ID], text)
}

// resultEnd ends a result. What a tool wrote does not.
const resultEnd = "</tool_result>"

// plainBlock takes the random part of the fence out of what can be read of a block.
func plainBlock(b llm.Block, fence string) llm.Block {
	if d, ok := b.(llm.Document); ok {
		d.Title = without(d.Title, fence)
		if strings.HasPrefix(d.MediaType, "text/") {
			d.Data = []byte(without(string(d.Data), fence))
		}
		return d
	}
	return b
}
