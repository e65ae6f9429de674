package slash

import (
	"context"
	"errors"

	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/cmd/openagent/internal/usage"
	"github.com/openagent-go/agent/internal/account"
)

func (c *Commands) showContext(ctx context.Context) error {
	lines, err := usage.SessionContext(ctx, c.H, c.App.Session)
	if err != nil {
		return err
	}
	for _, line := range lines {
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
