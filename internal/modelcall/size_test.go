package modelcall

import (
	"errors"
	"testing"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
)

// An answer ends where it is too long, or has too many calls.
func TestCheckSize(t *testing.T) {
	for _, c := range []struct {
		bytes, blocks int
		ok            bool
	}{
		{llmconst.MaxAnswer, llmconst.MaxBlocks, true},
		{llmconst.MaxAnswer + 1, 1, false},
		{1, llmconst.MaxBlocks + 1, false},
	} {
		err := CheckSize(c.bytes, c.blocks)
		if (err == nil) != c.ok || !c.ok && !errors.Is(err, llm.ErrOversized) {
			t.Errorf("%d bytes in %d blocks: %v", c.bytes, c.blocks, err)
		}
	}
}
