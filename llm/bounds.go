package llm

import "fmt"

// The limits of one answer of a model. A longer one is given up with an [*APIError] that
// matches [ErrOversized] as soon as that is known, and is not asked for again.
const (
	MaxAnswer = 12 << 20 // bytes of text, thinking and inputs of calls together
	MaxBlocks = 2000     // texts, thoughts and calls
)

// CheckSize returns an error for an answer of so many bytes and blocks that is too large.
func CheckSize(bytes, blocks int) error {
	switch {
	case bytes > MaxAnswer:
		return &APIError{Class: Oversized, Message: fmt.Sprintf("the answer is longer than %d MB", MaxAnswer>>20), RetryAfter: -1}
	case blocks > MaxBlocks:
		return &APIError{Class: Oversized, Message: fmt.Sprintf("the answer has more than %d texts, thoughts and calls", MaxBlocks), RetryAfter: -1}
	}
	return nil
}

// Size returns how many bytes of text, thinking and inputs of calls the blocks hold.
func (b Blocks) Size() int {
	n := 0
	for _, block := range b {
		switch t := block.(type) {
		case Text:
			n += len(t.Text)
		case Thinking:
			n += len(t.Text) + len(t.Signature) + len(t.Extra)
		case ToolUse:
			n += len(t.Input) + len(t.Invalid)
		}
	}
	return n
}
