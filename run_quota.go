package agent

import (
	"cmp"
	"context"
	"fmt"

	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/metering"
)

// checkQuota returns an error if the agent's quota cannot count the calls of a model.
func (x *runSetup) checkQuota(ctx context.Context) error {
	if x.Meter == nil {
		return nil
	}
	for _, m := range x.agent.models() {
		counted, ok := x.Meter(m).(metering.Model)
		if !ok {
			continue
		}
		if err := counted.CheckQuota(ctx, cmp.Or(x.Root, x.Session)); err != nil {
			return fmt.Errorf("agent: %w: Quota: %w", ErrConfig, err)
		}
	}
	return nil
}

// settleBroken settles the reservations of model calls that broke off when the program died.
// state is that of the session, which may be a sub-agent's. If that fails, they expire.
func (x *runSetup) settleBroken(ctx context.Context, session string, state *engine.State) {
	if x.Meter == nil {
		return
	}
	counted, ok := x.Meter(x.agent.Model).(metering.Model)
	if !ok {
		return
	}
	for _, c := range state.OpenCalls() {
		call := metering.NewCall(session, cmp.Or(x.Root, x.Session), c.Key, c.Since)
		if err := counted.SettleBroken(ctx, call, c.InputUSD, c.Since); err != nil {
			x.Log.Warn("settling the quota of a call that broke off", "session", session, "error", x.Secrets.Text(err.Error()))
		}
	}
}
