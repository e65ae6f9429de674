package app

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// confine applies the sandbox settings to the run's tools. Call it before the tools are created.
func confine(h *cli.IO, s *App) error {
	settings, some, err := s.Options.SandboxSettings()
	if err != nil || !some {
		return err
	}
	place := sandbox.Place{Dir: s.Project, Roots: writableFolders(h, s.Options, s.Project), Private: PrivatePaths(h), Deny: s.Options.Deny}
	if dir, err := tool.OutputDir(); err == nil {
		place.Readable = append(place.Readable, dir) // without it there are no long outputs to read
	}
	if s.Sandbox, err = sandbox.New(settings, place); err != nil {
		return cli.Usagef("%w", err)
	}
	s.workspace.Confine = s.Sandbox.Confiner()
	return nil
}

// writableFolders lists the additional folders that confined commands may write. If managed
// settings enable the sandbox, only their list counts.
func writableFolders(h *cli.IO, o *settings.Options, dir string) []string {
	if !o.Settings.ManagedSandbox() {
		return o.Dirs
	}
	var listed, out []string
	if v, ok := o.Managed(settings.FoldersKey); ok {
		_ = json.Unmarshal(v.Value, &listed) // already validated
	}
	for _, folder := range o.Dirs {
		if slices.ContainsFunc(listed, func(name string) bool { return settings.ResolveFolder(name, dir) == folder }) {
			out = append(out, folder)
		} else {
			h.Warn("%s is read-only: managed settings enable the sandbox, and their %s does not list the folder", folder, settings.FoldersKey)
		}
	}
	return out
}

// AddSandboxDecider lets the sandbox decide on the agent's calls.
func (s *App) AddSandboxDecider(p *permission.Policy, judges []permission.Decider) []permission.Decider {
	if s.Sandbox == nil {
		return judges
	}
	p.AllowConfined = s.Sandbox.AutoAllow()
	return append(judges, s.Sandbox)
}

// box returns the sandbox of Bash, or nil if commands are not confined.
func (s *App) box() tools.Sandbox {
	if s.Sandbox == nil || !s.workspace.Confines() {
		return nil
	}
	return s.Sandbox
}

// WarnOfSandbox warns if commands are not confined although they should be.
func WarnOfSandbox(h *cli.IO, s *App) {
	if s.Sandbox == nil {
		return
	}
	switch st := s.Sandbox.State(); {
	case st.Enabled && st.Backend == "":
		h.Warn("the sandbox is enabled, but this system has none (%s): commands that may change something need permission", strings.Join(st.Unavailable, "; "))
	case len(st.Lacks) > 0:
		h.Warn("the sandbox %s lacks some protections: %s", st.Backend, strings.Join(st.Lacks, "; "))
	}
}

// warnOfBypass recommends the sandbox if nothing else limits commands.
func warnOfBypass(h *cli.IO, s *App) {
	if permission.Mode(s.Options.Mode) == permission.Bypass && !s.workspace.Confines() {
		h.Warn("mode bypassPermissions without a sandbox: commands can read and change everything that you can; confine them with --sandbox on")
	}
}
