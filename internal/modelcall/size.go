// Package modelcall checks and measures what goes to a model and comes from it.
package modelcall

import (
	"fmt"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
)

// CheckSize returns an error for an answer of so many bytes and blocks that is too large.
func CheckSize(bytes, blocks int) error {
	switch {
	case bytes > llmconst.MaxAnswer:
		return &llm.APIError{Class: llmconst.Oversized, Message: fmt.Sprintf("the answer is longer than %d MB", llmconst.MaxAnswer>>20), RetryAfter: -1}
	case blocks > llmconst.MaxBlocks:
		return &llm.APIError{Class: llmconst.Oversized, Message: fmt.Sprintf("the answer has more than %d texts, thoughts and calls", llmconst.MaxBlocks), RetryAfter: -1}
	}
	return nil
}

// Size returns how many bytes of text, thinking and inputs of calls the blocks hold.
func Size(blocks llm.Blocks) int {
	n := 0
	for _, block := range blocks {
		switch t := block.(type) {
		case llm.Text:
			n += len(t.Text)
		case llm.Thinking:
			n += len(t.Text) + len(t.Signature) + len(t.Extra)
		case llm.ToolUse:
			n += len(t.Input) + len(t.Invalid)
		}
	}
	return n
}
