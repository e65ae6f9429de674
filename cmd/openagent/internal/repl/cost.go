package repl

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

func (c *REPL) showContext(ctx context.Context) error {
	found, err := c.s.Session.ContextUsage(ctx)
	if err != nil {
		return err
	}
	var u engine.ContextUsage
	data, err := json.Marshal(found)
	if err := cmp.Or(err, json.Unmarshal(data, &u)); err != nil {
		return err
	}
	for _, line := range usage.ContextLines(c.h, u) {
		c.screen.Line(term.Plain, "%s", line)
	}
	return nil
}

func (c *REPL) showCost(ctx context.Context) error {
	if c.s.Store == nil {
		return errors.New("the session is not saved")
	}
	book, err := account.Read(c.s.Store.Read(ctx, c.s.Session.ID, 0))
	if err != nil {
		return err
	}
	for _, line := range usage.CostLines(c.h, book.Cost()) {
		c.screen.Line(term.Plain, "%s", line)
	}
	return nil
}
