// Package prompttools gives tools to models that cannot call any. It writes the list of
// tools into the system prompt as Markdown, reads calls from the model's text, and sends
// results back as text. Use it only if you must: models that call tools by themselves do
// it better.
//
//	m := prompttools.Wrap(openai.Model("old-model"))
package prompttools

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"iter"
	"strings"

	"github.com/openagent-go/agent/internal/modelinfo"
	"github.com/openagent-go/agent/llm"
)

// Wrap returns a model that takes tools and passes everything on to m, which gets
// none. A call is a fenced block:
//
//	```tool_call_3f9a1c read
//	{"path": "main.go"}
//	```
//
// Only the output of m is searched for calls, never a prompt or a result. The fence has a
// random part, which is removed from all texts of others (but not from PDFs and pictures),
// so m does not call a tool by quoting them. A block that is not closed, or does not hold a
// JSON object, becomes a call whose input is Invalid: it is reported to the model and not
// carried out. Text of m after a call is left out: it would be guesses at results.
func Wrap(m llm.Model) llm.Model {
	return &model{Model: m, fence: fenceWord + random(3)}
}

// fenceWord begins the language of a fenced block that is a call.
const fenceWord = "tool_call_"

func random(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

type model struct {
	llm.Model
	fence string
}

// Info returns the Info of the model below.
func (m *model) Info() llm.Info { return llm.InfoOf(m.Model) }

// Describe describes the model, see [modelinfo.Of].
func (m *model) Describe() modelinfo.Info {
	i := modelinfo.Of(m.Model)
	i.NoTools, i.PlainTools = false, false
	return i
}

// Secrets returns the secrets of the model below.
func (m *model) Secrets() []string {
	if s, ok := m.Model.(interface{ Secrets() []string }); ok {
		return s.Secrets()
	}
	return nil
}

// Stream implements [llm.Model].
func (m *model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for _, t := range req.Tools {
			if t.Name == "" || strings.ContainsAny(t.Name, " \t\r\n`") {
				yield(llm.Delta{}, &llm.APIError{Class: llm.Invalid, Message: fmt.Sprintf("the tool name %q cannot be written into a prompt", t.Name), RetryAfter: -1})
				return
			}
		}
		r := &reader{fence: "```" + m.fence, left: req.ToolChoice.Mode == llm.ChooseNone || len(req.Tools) == 0}
		for d, err := range m.Model.Stream(ctx, m.plain(req)) {
			if err != nil {
				yield(llm.Delta{}, err)
				return
			}
			for _, out := range r.take(d) {
				if !yield(out, nil) {
					return
				}
			}
		}
	}
}

// plain returns the request without tools.
func (m *model) plain(req *llm.Request) *llm.Request {
	t := req.Memo.Load("prompttools/"+m.fence, func() any { return &transcript{names: map[string]string{}} }).(*transcript)
	out := *req
	out.Messages, out.Memo = t.plain(req.Messages, m.fence)
	out.System = m.system(req)
	out.Tools, out.ToolChoice = nil, llm.ToolChoice{}
	return &out
}

// system returns the system prompt with the tools.
func (m *model) system(req *llm.Request) string {
	if len(req.Tools) == 0 {
		return m.without(req.System)
	}
	var b strings.Builder
	b.WriteString(m.without(req.System))
	if req.System != "" {
		b.WriteString("\n\n")
	}
	fmt.Fprintf(&b, "# Tools\n\nTo call a tool, write a fenced block whose language is `%[1]s`, followed by the name of the tool; in the block stands its input, one JSON object:\n\n"+
		"```%[1]s NAME\n{\"member\": \"value\"}\n```\n\n"+
		"Write nothing else on these lines. You may write several blocks, one for each call. After the last block stop: the results come with the next message. Never write results yourself.\n", m.fence)
	for _, t := range req.Tools {
		fmt.Fprintf(&b, "\n## %s\n", t.Name)
		if d := strings.TrimSpace(t.Description); d != "" {
			fmt.Fprintf(&b, "\n%s\n", m.without(d))
		}
		if len(t.Input) > 0 {
			fmt.Fprintf(&b, "\nInput, as JSON Schema: %s\n", m.without(string(t.Input)))
		}
	}
	switch c := req.ToolChoice; c.Mode {
	case llm.ChooseNone:
		b.WriteString("\nDo not call a tool now.\n")
	case llm.ChooseAny:
		b.WriteString("\nCall a tool now.\n")
	case llm.ChooseTool:
		fmt.Fprintf(&b, "\nCall the tool %s now.\n", c.Name)
	}
	return b.String()
}

func (m *model) without(s string) string { return without(s, m.fence) }

// without removes the random part of the fence from texts of others. The replacement has a
// space, so that it makes no fence with the text around it.
func without(s, fence string) string { return strings.ReplaceAll(s, fence, "tool call") }
