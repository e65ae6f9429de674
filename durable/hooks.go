package durable

import (
	"context"
	"slices"

	"github.com/openagent-go/agent/hook"
)

// hooksOnce returns the hooks of an agent so that those of SessionStart are called when a session
// begins, and not each time that a worker continues it. Those of SessionEnd are left out: a
// session does not end when a worker leaves it.
func hooksOnce(given []hook.Hook) []hook.Hook {
	own := slices.DeleteFunc(slices.Clone(given), func(h hook.Hook) bool { return h.On == hook.SessionEnd })
	for i, h := range own {
		if h.On != hook.SessionStart || h.Func == nil {
			continue
		}
		own[i].Func = func(ctx context.Context, in *hook.Input) (hook.Output, error) {
			if in.Source == "resume" {
				return hook.Output{}, nil
			}
			return h.Func(ctx, in)
		}
	}
	return own
}
