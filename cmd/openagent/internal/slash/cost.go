package slash

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/cmd/openagent/internal/usage"
	"github.com/openagent-go/agent/internal/account"
	"github.com/openagent-go/agent/internal/engine"
)

func (c *Commands) showContext(ctx context.Context) error {
	found, err := c.App.Session.ContextUsage(ctx)
	if err != nil {
		return err
	}
	var u engine.ContextUsage
	data, err := json.Marshal(found)
	if err := cmp.Or(err, json.Unmarshal(data, &u)); err != nil {
		return err
	}
	for _, line := range usage.ContextLines(c.H, u) {
		c.Screen.Line(term.Plain, "%s", line)
	}
	return nil
}

func (c *Commands) showCost(ctx context.Context) error {
	if c.App.Store == nil {
		return errors.New("the session is not saved")
	}
	book, err := account.Read(c.App.Store.Read(ctx, c.App.Session.ID, 0))
	if err != nil {
		return err
	}
	for _, line := range usage.CostLines(c.H, book.Cost()) {
		c.Screen.Line(term.Plain, "%s", line)
	}
	return nil
}
