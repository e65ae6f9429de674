// Package trust is the command "openagent trust". It manages the files and folders that the user trusts.
package trust

import (
	"context"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

// Command returns the command "openagent trust".
func Command(h *cli.IO) cli.Command {
	format := ""
	flags := func() cli.Flags { return cli.ListFlags(&format) }
	return cli.Command{Name: "trust", Summary: "Manage which projects' tools, skills, agents and settings you trust", Default: "list", Subcommands: []cli.Command{
		{Name: "list", Summary: "List the folders and files that you trust", Examples: []string{"openagent trust list"}, Flags: flags,
			Run: func(context.Context, []string) error { return listTrust(h, format) }},
		{Name: "add", Args: "DIR", MinArgs: 1, MaxArgs: 1, Summary: "Trust a folder in its current state", Examples: []string{"openagent trust add ."}, Flags: flags,
			Run: func(ctx context.Context, args []string) error { return addTrust(ctx, h, args[0]) }},
		{Name: "remove", Args: "DIR", MinArgs: 1, MaxArgs: 1, Summary: "Stop trusting a folder", Examples: []string{"openagent trust remove ."}, Flags: flags,
			Run: func(ctx context.Context, args []string) error { return removeTrust(ctx, h, args[0]) }},
	}}
}
