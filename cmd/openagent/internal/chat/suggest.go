package chat

import (
	"context"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/suggest"
)

// suggest asks for the prompt that may come next. A suggestion that fails is none: nobody waits for it.
func (c *Chat) suggest(ctx context.Context) {
	c.unsuggest()
	ctx, c.unsuggest = context.WithCancel(ctx)
	c.runs.Go(func() {
		text, res, err := suggest.Next(ctx, c.s.Session)
		if err != nil {
			c.s.Agent.Log.Debug("no prompt suggested", "error", err)
		}
		next := ui.Suggested{Text: c.h.OneLine(text)}
		if res != nil {
			next.Cost = ui.Spent{Context: res.Usage.Context(), CacheRead: res.Usage.CacheRead, Output: res.Usage.Output, Unpriced: res.CostUSD == nil}
			if res.CostUSD != nil {
				next.Cost.USD = *res.CostUSD
			}
		}
		c.post(next)
	})
}
