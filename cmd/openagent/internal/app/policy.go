package app

import (
	"path/filepath"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/permission"
)

// Policy returns the permissions that the options give.
func Policy(h *cli.IO, o *settings.Options) permission.Policy {
	return permission.Policy{Mode: permission.Mode(o.Mode), Allow: o.Allow, Ask: o.Ask, Deny: o.Deny, Origins: o.Origins, Private: PrivatePaths(h)}
}

// PrivatePaths returns what no tool may read or change in the home folder: secrets,
// what is trusted, what runs later, and what was said and done in all projects.
// Settings, instructions and tools stay in reach: changing them is asked about.
func PrivatePaths(h *cli.IO) []string {
	home, err := h.Home()
	if err != nil {
		return nil // nothing is kept
	}
	var out []string
	for _, name := range []string{"triggers.json", "trust.json", "cron", "sessions", "checkpoints", loginsName} {
		out = append(out, filepath.Join(home, name))
	}
	return out
}
