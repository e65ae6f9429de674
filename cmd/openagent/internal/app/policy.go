package app

import (
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/permission"
)

// Policy returns the permission policy of the options, for commands that run no agent.
func Policy(h *cli.IO, o *settings.Options) permission.Policy {
	p := permission.Policy{Mode: permission.Mode(o.Mode), Allow: o.Allow, Ask: o.Ask, Deny: o.Deny, Origins: o.Origins, Private: PrivatePaths(h)}
	if o.Settings != nil {
		p.KnownTools = o.Settings.Policy().KnownTools
	}
	return p
}

// PrivatePaths returns the paths in the home folder that no tool may read or change.
func PrivatePaths(h *cli.IO) []string {
	home, err := h.Home()
	if err != nil {
		return nil // nothing is stored
	}
	return parts.PrivatePaths(home)
}
