package agent

import (
	"testing"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/tool"
)

// An effect whose execution fails in the program itself still gets a fact, or the run
// would wait for it forever. Records and waits are not executed.
func TestEveryEffectGetsAFactWhenItFails(t *testing.T) {
	for _, e := range engine.EffectTypes() {
		switch e.(type) {
		case engine.Record, engine.Wait:
			continue
		}
		f := &pendingEffect{input: executor.Input{Effect: e, Done: new(event.ToolDone)}}
		if new(activeRun).broken(f, tool.Panicked, "it panicked") == nil {
			t.Errorf("activeRun.broken makes no fact of %T", e)
		}
	}
}
