package executor

import (
	"context"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/safecall"
)

// checkpoint saves the files before a prompt changes some.
func (x *Executor) checkpoint(ctx context.Context, e engine.TakeCheckpoint) event.Fact {
	start := time.Now()
	f := fact.Checkpointed{Key: e.Key(), Prompt: e.Prompt}
	if x.Checkpoint == nil {
		f.Error = "the agent keeps no checkpoints any more"
		return f
	}
	id, err := safecall.Within(ctx, func() (string, error) { return x.Checkpoint(ctx, e) })
	if ctx.Err() != nil {
		return nil
	}
	f.ID, f.Duration = id, time.Since(start)
	if err != nil {
		f.ID, f.Error = "", x.Secrets.Text(err.Error())
		x.Log.Warn("keeping the files", "error", f.Error)
	}
	return f
}
