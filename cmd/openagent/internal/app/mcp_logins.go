package app

import (
	"path/filepath"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/mcp/oauth"
)

// LoginCommand logs in to an MCP server.
const LoginCommand = "openagent mcp login"

const loginsName = "mcp-logins" // in the home folder

// Logins keeps the logins to MCP servers; nil where there is no home folder.
func Logins(h *cli.IO) oauth.Store {
	home, err := h.Home()
	if err != nil {
		return nil
	}
	return &oauth.Dir{Path: filepath.Join(home, loginsName)}
}
