package main

import (
	"path/filepath"

	"github.com/openagent-go/agent/permission"
)

// policy returns the permissions that the options give.
func (h *host) policy(o *options) permission.Policy {
	return permission.Policy{Mode: permission.Mode(o.mode), Allow: o.allow, Ask: o.ask, Deny: o.deny, Origins: o.origins, Private: h.private()}
}

// private returns what no tool may read or change in the home folder: secrets,
// what is trusted, what runs later, and what was said and done in all projects.
// Settings, instructions and tools stay in reach: changing them is asked about.
func (h *host) private() []string {
	home, err := h.home()
	if err != nil {
		return nil // nothing is kept
	}
	var out []string
	for _, name := range []string{"triggers.json", "trust.json", "cron", "sessions", "checkpoints", loginsName} {
		out = append(out, filepath.Join(home, name))
	}
	return out
}
