package settings

import (
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/sandbox"
)

// Values of --sandbox. With "on" a sandbox is required. With "auto" the run works without one if
// the system has none, and asks the user.
const (
	sandboxAuto = "auto"
	sandboxOn   = "on"
	sandboxOff  = "off"
)

var sandboxWords = []string{sandboxAuto, sandboxOn, sandboxOff}

// SandboxSettings returns the sandbox settings, and whether any are set.
func (o *Options) SandboxSettings() (sandbox.Settings, bool, error) {
	s, some, err := parts.SandboxSettings(o.Settings)
	if err != nil {
		err = cli.Usagef("%w", err)
	}
	return s, some, err
}
