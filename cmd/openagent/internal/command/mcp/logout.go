package mcp

import (
	"context"
	"fmt"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
)

// serverLogout deletes the login to an MCP server.
func serverLogout(ctx context.Context, h *cli.IO, o *settings.Options, name string) error {
	client, err := loginClient(ctx, h, o, name)
	if err != nil {
		return err
	}
	was, err := client.Logout(ctx)
	switch {
	case err != nil && !was:
		return &cli.ExitError{Code: cli.ExitInternal, Err: fmt.Errorf("the MCP server %s: %w", name, err)}
	case err != nil:
		h.Warn("the login to %s is deleted here, but the server may still accept it: %v", name, err)
	case !was:
		return h.Show("There was no login to " + name + ".\n")
	}
	return h.Show("Logged out of " + name + ".\n")
}
