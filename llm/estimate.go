package llm

// Estimate estimates the input tokens of the request, as [Tokens] does, including the
// overhead of messages and tools at providers. Use it if a provider reports no count.
func (r *Request) Estimate() int {
	n := 3 + Tokens(r.System)
	for i := range r.Tools {
		n += r.Tools[i].Estimate()
	}
	for _, m := range r.Messages {
		n += 4 + m.Content.Estimate()
	}
	return n
}

// Estimate returns about how many tokens the description of the tool counts.
func (t *Tool) Estimate() int { return 8 + Tokens(t.Name) + Tokens(t.Description) + Tokens(t.Input) }

// Estimate returns about how many tokens the blocks count.
func (bs Blocks) Estimate() int {
	n := 0
	for _, b := range bs {
		switch b := b.(type) {
		case Text:
			n += Tokens(b.Text)
		case Thinking:
			n += Tokens(b.Text)
		case RedactedThinking:
			n += len(b.Data) / 4
		case ToolUse:
			n += 12 + Tokens(b.Name) + Tokens(b.Input)
		case ToolResult:
			n += 8 + b.Content.Estimate()
		case Image:
			n += ImageTokens
		case Document:
			n += max(3000, len(b.Data)/10)
		case Verbatim:
			n += Tokens(b.Raw)
		}
	}
	return n
}

// ClaudeToolsTokens is the estimated overhead of Claude models once a request has tools,
// beside their descriptions; before version 4.5 it was 170 less.
const ClaudeToolsTokens = 490

// ImageTokens is the most that an image of 1568 pixels a side counts for.
const ImageTokens = 1600
