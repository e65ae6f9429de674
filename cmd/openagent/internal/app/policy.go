package app

import (
	"path/filepath"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/permission"
)

// Policy returns the permission policy of the options.
func Policy(h *cli.IO, o *settings.Options) permission.Policy {
	return permission.Policy{Mode: permission.Mode(o.Mode), Allow: o.Allow, Ask: o.Ask, Deny: o.Deny, Origins: o.Origins, Private: PrivatePaths(h)}
}

// PrivatePaths returns the paths in the home folder that no tool may read or change: secrets, trust
// records, jobs, and the sessions of all projects. Settings, instructions and tools stay
// accessible; changes to them need permission.
func PrivatePaths(h *cli.IO) []string {
	home, err := h.Home()
	if err != nil {
		return nil // nothing is stored
	}
	var out []string
	for _, name := range []string{"triggers.json", "trust.json", "cron", "sessions", "checkpoints", loginsName} {
		out = append(out, filepath.Join(home, name))
	}
	return out
}
