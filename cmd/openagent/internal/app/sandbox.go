package app

import (
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/permission"
)

// WarnOfSandbox warns if commands are not confined although they should be.
func WarnOfSandbox(h *cli.IO, s *App) {
	if text := parts.SandboxWarning(s.Sandbox); text != "" {
		h.Warn("%s", text)
	}
}

// warnOfBypass recommends the sandbox if nothing else limits commands.
func warnOfBypass(h *cli.IO, s *App) {
	if permission.Mode(s.Options.Mode) == permission.Bypass && s.Workspace.Confine == nil {
		h.Warn("mode bypassPermissions without a sandbox: commands can read and change everything that you can; confine them with --sandbox on")
	}
}
