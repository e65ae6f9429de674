package llm

// Estimate returns about how many tokens the request's input counts, as [Tokens]
// does, with what providers put around messages and tools. It serves where a
// provider did not say.
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

// ClaudeToolsTokens is about what Claude models are told about tools once a request
// has some, beside their descriptions; before version 4.5 it was 170 less.
const ClaudeToolsTokens = 490

// ImageTokens is the most that an image of 1568 pixels a side counts for.
const ImageTokens = 1600
