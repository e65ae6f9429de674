package llm

import "github.com/openagent-go/agent/internal/llmconst"

// Room returns the context window that is to be reckoned with, and whether it is
// assumed because none is known.
func (i Info) Room() (window int, assumed bool) {
	if i.Window > 0 {
		return i.Window, i.Assumed
	}
	return llmconst.AssumedWindow, true
}
