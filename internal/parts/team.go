package parts

import (
	"path/filepath"

	"github.com/openagent-go/agent/mcp/oauth"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/workspace"
)

// teamFolder is the folder of tasks, teams and mail. It is inside the session's folder and is
// deleted with it.
const teamFolder = "team"

// TeamDir returns the tasks, teams and mail of the sessions in a folder.
func TeamDir(sessions string) *team.Dir { return &team.Dir{Path: sessions, In: teamFolder} }

// LoginCommand is the command that logs in to an MCP server.
const LoginCommand = "openagent mcp login"

// Logins returns the stored logins to MCP servers, or nil without a home folder.
func Logins(home string) oauth.Store {
	if home == "" {
		return nil
	}
	return &oauth.Dir{Path: filepath.Join(home, LoginsName)}
}

// SecretsOf returns the values of variables that must not be shown.
func SecretsOf(env map[string]string) []string { return (&workspace.Workspace{Env: env}).Secrets() }
