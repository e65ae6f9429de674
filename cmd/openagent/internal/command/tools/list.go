package tools

import (
	"context"
	"errors"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

func listTools(ctx context.Context, h *cli.IO, o *app.ToolsOptions) error {
	b, err := app.LoadTools(ctx, h, o, false)
	if err != nil {
		return err
	}
	var list []app.ToolEntry
	var rows [][]string
	for _, t := range b.All {
		e := b.Entry(t, o.Plugins)
		list = append(list, e)
		rows = append(rows, []string{e.Name, e.Kind, e.Access(), app.FirstSentence(e.Description)})
	}
	return errors.Join(h.WriteList(o.Output, list, "NAME KIND DOES DESCRIPTION", rows), b.Close())
}
