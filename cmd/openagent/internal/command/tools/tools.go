// Package tools is the command "openagent tools". It lists, shows and runs tools.
package tools

import (
	"context"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
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
