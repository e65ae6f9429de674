package llm

import "github.com/openagent-go/agent/internal/tokens"

// Estimate estimates the input tokens of the request, from its texts, including the
// overhead of messages and tools at providers. Use it if a provider reports no count.
func (r *Request) Estimate() int {
	n := 3 + tokens.Count(r.System)
	for i := range r.Tools {
		n += r.Tools[i].estimate()
	}
	for _, m := range r.Messages {
		n += 4 + m.Content.estimate()
	}
	return n
}

// estimate returns about how many tokens the description of the tool counts.
func (t *Tool) estimate() int {
	return 8 + tokens.Count(t.Name) + tokens.Count(t.Description) + tokens.Count(t.Input)
}

// estimate returns about how many tokens the blocks count.
func (bs Blocks) estimate() int {
	n := 0
	for _, b := range bs {
		switch b := b.(type) {
		case Text:
			n += tokens.Count(b.Text)
		case Thinking:
			n += tokens.Count(b.Text)
		case RedactedThinking:
			n += len(b.Data) / 4
		case ToolUse:
			n += 12 + tokens.Count(b.Name) + tokens.Count(b.Input)
		case ToolResult:
			n += 8 + b.Content.estimate()
		case Image:
			n += tokens.Image
		case Document:
			n += max(3000, len(b.Data)/10)
		case Verbatim:
			n += tokens.Count(b.Raw)
		}
	}
	return n
}
