package app

import (
	"path/filepath"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/mcp/oauth"
)

// LoginCommand is the command that logs in to an MCP server.
const LoginCommand = "openagent mcp login"

const loginsName = "mcp-logins" // in the home folder

// Logins returns the stored logins to MCP servers, or nil without a home folder.
func Logins(h *cli.IO) oauth.Store {
	home, err := h.Home()
	if err != nil {
		return nil
	}
	return &oauth.Dir{Path: filepath.Join(home, loginsName)}
}
