// Package agents is the command "openagent agents". It lists, shows, creates and checks sub-agents.
package agents

import (
	"context"
	"errors"
	"slices"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/workspace"
)

// agentsOptions are the flags of the command agents.
type agentsOptions struct {
	settings.Options
	user bool
}

// Command returns the command "openagent agents".
func Command(h *cli.IO) cli.Command {
	o := new(agentsOptions)
	verb := func(flags cli.Flags, c cli.Command) cli.Command {
		c.Flags = func() cli.Flags {
			return slices.Concat(cli.ListFlags(&o.Output), o.Flags().Named("cwd", "plugin-dir", "agents"), flags)
		}
		c.Run = o.RunChecked(&o.Output, c.Run)
		return c
	}
	user := cli.Flags{{Name: "user", Help: "create it for all projects", Set: cli.SetTrue(&o.user)}}
	return cli.Command{Name: "agents", Summary: "List, show, create and check sub-agents", Default: "list", Subcommands: []cli.Command{
		verb(nil, cli.Command{Name: "list", Summary: "List the sub-agents", Examples: []string{"openagent agents list"},
			Run: func(ctx context.Context, _ []string) error { return listAgents(ctx, h, o) }}),
		verb(nil, cli.Command{Name: "show", Args: "NAME", MinArgs: 1, MaxArgs: 1, Summary: "Show the definition of a sub-agent", Examples: []string{"openagent agents show Explore"},
			Run: func(ctx context.Context, args []string) error { return showAgent(ctx, h, o, args[0]) }}),
		verb(user, cli.Command{Name: "new", Args: "NAME [DESCRIPTION]", MinArgs: 1, MaxArgs: 2, Summary: "Create the file of a sub-agent",
			Examples: []string{"openagent agents new reviewer 'Reviews changes before a commit'"},
			Run:      func(ctx context.Context, args []string) error { return newAgentFile(ctx, h, o, args) }}),
		verb(nil, cli.Command{Name: "lint", Args: "[FILE…]", MaxArgs: cli.AnyCount, Summary: "Check files of sub-agents", Examples: []string{"openagent agents lint"},
			Run: func(ctx context.Context, args []string) error { return lintAgents(ctx, h, o, args) }}),
	}}
}

// loadAgents finds the sub-agent definitions outside a run. It asks the user on the terminal about
// untrusted ones.
func loadAgents(ctx context.Context, h *cli.IO, o *agentsOptions) (list app.Definitions, err error) {
	dir, err := settings.WorkingDir()
	if err != nil {
		return nil, err
	}
	hooks := &workspace.Workspace{Root: dir} // none runs
	f := app.NewFinder(h, &o.Options, dir, h.InTerminal && h.ErrTerminal, true)
	if err = app.FindPlugins(ctx, f); err == nil {
		list, err = app.FindDefinitions(ctx, h, f, &o.Options, hooks)
	}
	return list, errors.Join(err, hooks.Close())
}
