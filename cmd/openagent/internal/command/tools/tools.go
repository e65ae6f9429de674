// Package tools is the command "openagent tools". It lists, shows and runs tools.
package tools

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/tool"
)

// Command returns the command "openagent tools".
func Command(h *cli.IO) cli.Command {
	o := new(app.ToolsOptions)
	return cli.Command{Name: "tools", Summary: "List, show and run tools, and count their calls", Default: "list", Subcommands: []cli.Command{
		app.ToolSubcommand(o, app.RunFlags, nil, cli.Command{Name: "list", Summary: "List the tools", Examples: []string{"openagent tools list"},
			Run: func(ctx context.Context, _ []string) error { return listTools(ctx, h, o) }}),
		app.ToolSubcommand(o, app.RunFlags, nil, cli.Command{Name: "show", Args: "NAME", MinArgs: 1, MaxArgs: 1, Summary: "Show a tool as the model sees it", Examples: []string{"openagent tools show Read"},
			Run: func(ctx context.Context, args []string) error { return showTool(ctx, h, o, args[0]) }}),
		app.ToolSubcommand(o, app.RunFlags, nil, cli.Command{Name: "run", Args: "NAME JSON", MinArgs: 1, MaxArgs: 2, Summary: "Run a tool without a model",
			Details: "With - as JSON it reads the input from stdin.\n", Examples: []string{`openagent tools run Read '{"file_path":"go.mod"}'`},
			Run: func(ctx context.Context, args []string) error { return runTool(ctx, h, o, args) }}),
		app.ToolSubcommand(o, app.RunFlags, o.SessionFlags(), cli.Command{Name: "stats", Summary: "Count the calls of tools in sessions", Examples: []string{"openagent tools stats --all"},
			Run: func(ctx context.Context, _ []string) error { return toolStats(ctx, h, o) }}),
	}}
}

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

func showTool(ctx context.Context, h *cli.IO, o *app.ToolsOptions, name string) error {
	b, err := app.LoadTools(ctx, h, o, false)
	if err != nil {
		return err
	}
	t, err := b.Find(name)
	if err = errors.Join(err, b.Close()); err != nil {
		return err
	}
	e := b.Entry(t, o.Plugins)
	if o.Output == cli.FormatJSON {
		return h.WriteList(o.Output, e, "", nil)
	}
	var schema bytes.Buffer
	if err := json.Indent(&schema, e.Input, "", "  "); err != nil {
		return fmt.Errorf("showing the schema of %s: %w", name, err)
	}
	timeout := "none of its own"
	if limit := cmp.Or(t.Spec().Timeout, tool.DefaultTimeout); limit > 0 {
		timeout = limit.String()
	}
	head := fmt.Sprintf("%s: %s, %s\ntime limit: %s\n", e.Name, e.Kind, e.Access(), timeout)
	if e.File != "" {
		head += "file: " + h.OneLine(e.File) + "\n"
	}
	return h.Show(head + "\n" + terminal.Text(strings.TrimSpace(e.Description)) + "\n\n" + terminal.Text(schema.String()) + "\n")
}
