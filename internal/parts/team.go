package parts

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"github.com/openagent-go/agent/internal/environ"
	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/mcp/oauth"
	"github.com/openagent-go/agent/team"
)

// teamFolder is the folder of tasks, teams and mail. It is inside the session's folder and is
// deleted with it.
const teamFolder = "team"

// OpenTeam opens the tasks, teams and mail of the sessions in a folder.
func OpenTeam(sessions string, log *slog.Logger) *team.Store {
	return (*team.Store)(teamstore.Open(sessions, teamFolder, log))
}

// CopyTeam copies the tasks and teams of a session into a copy of the session.
func CopyTeam(ctx context.Context, sessions, from, to string) error {
	d := &teamstore.Dir{Path: sessions, In: teamFolder}
	return errors.Join(d.Copy(ctx, from, to), d.Close())
}

// LoginCommand is the command that logs in to an MCP server.
const LoginCommand = "openagent mcp login"

// Logins returns the stored logins to MCP servers, or nil without a home folder.
func Logins(home string) oauth.Store {
	if home == "" {
		return nil
	}
	return oauth.Dir(filepath.Join(home, LoginsName))
}

// SecretsOf returns the values of variables that must not be shown.
func SecretsOf(env map[string]string) []string { return environ.Given(env) }
