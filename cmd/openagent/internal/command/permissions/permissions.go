// Package permissions is the command "openagent permissions". It explains permission decisions.
package permissions

import (
	"context"
	"slices"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
)

// Command returns the command "openagent permissions".
func Command(h *cli.IO) cli.Command {
	o := new(app.ToolsOptions)
	named := slices.DeleteFunc(slices.Clone(app.RunFlags), func(name string) bool { return name == "timeout" })
	return cli.Command{Name: "permissions", Summary: "Show, explain and suggest permission rules", Default: "list", Subcommands: []cli.Command{
		app.ToolSubcommand(o, named, nil, cli.Command{Name: "list", Summary: "List the rules with their sources", Examples: []string{"openagent permissions list"},
			Run: func(ctx context.Context, _ []string) error { return listRules(ctx, h, o) }}),
		app.ToolSubcommand(o, named, nil, cli.Command{Name: "explain", Args: "[TOOL] INPUT", MinArgs: 1, MaxArgs: 2, Summary: "Explain how the rules decide on a call",
			Examples: []string{"openagent permissions explain 'git push'", `openagent permissions explain Read '{"file_path":".env"}'`},
			Run:      func(ctx context.Context, args []string) error { return explainCall(ctx, h, o, args) }}),
		app.ToolSubcommand(o, named, o.SessionFlags(), cli.Command{Name: "suggest", Summary: "Suggest rules from the approvals in sessions", Examples: []string{"openagent permissions suggest --all"},
			Run: func(ctx context.Context, _ []string) error { return suggestRules(ctx, h, o) }}),
		app.ToolSubcommand(o, named, nil, cli.Command{Name: "lint", Summary: "Find rules that have no effect", Examples: []string{"openagent permissions lint"},
			Run: func(ctx context.Context, _ []string) error { return lintRules(ctx, h, o) }}),
	}}
}

// ruled returns the options with the settings applied.
func ruled(ctx context.Context, h *cli.IO, o *app.ToolsOptions) (*settings.Options, error) {
	dir, err := settings.WorkingDir()
	if err != nil {
		return nil, err
	}
	return settings.Configure(ctx, h, &o.Options, dir, false)
}
