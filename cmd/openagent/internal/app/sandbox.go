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

// confine applies the settings of the sandbox to what the tools of a run work on.
// It comes before there are tools.
func confine(h *cli.IO, s *App) error {
	settings, some, err := s.Options.SandboxSettings()
	if err != nil || !some {
		return err
	}
	place := sandbox.Place{Dir: s.Project, Roots: writableFolders(h, s.Options, s.Project), Private: PrivatePaths(h)}
	if dir, err := tool.OutputDir(); err == nil {
		place.Readable = append(place.Readable, dir) // else there are no long outputs to be read
	}
	if s.Sandbox, err = sandbox.New(settings, place); err != nil {
		return cli.Usagef("%w", err)
	}
	s.workspace.Confine = s.Sandbox.Confiner()
	return nil
}

// writableFolders lists the further folders that confined commands may write. Where
// managed settings switch the sandbox on, they are those that managed settings list.
func writableFolders(h *cli.IO, o *settings.Options, dir string) []string {
	if !o.Settings.ManagedSandbox() {
		return o.Dirs
	}
	var listed, out []string
	if v, ok := o.Managed(settings.FoldersKey); ok {
		_ = json.Unmarshal(v.Value, &listed) // it was checked
	}
	for _, folder := range o.Dirs {
		if slices.ContainsFunc(listed, func(name string) bool { return settings.ResolveFolder(name, dir) == folder }) {
			out = append(out, folder)
		} else {
			h.Warn("%s can be read but not written: managed settings switch the sandbox on, and their %s does not list it", folder, settings.FoldersKey)
		}
	}
	return out
}

// AddSandboxDecider has the sandbox judge the calls of an agent.
func (s *App) AddSandboxDecider(p *permission.Policy, judges []permission.Decider) []permission.Decider {
	if s.Sandbox == nil {
		return judges
	}
	p.AllowConfined = s.Sandbox.AutoAllow()
	return append(judges, s.Sandbox)
}

// box is the sandbox that Bash knows of, nil where commands are not confined.
func (s *App) box() tools.Sandbox {
	if s.Sandbox == nil || !s.workspace.Confines() {
		return nil
	}
	return s.Sandbox
}

// WarnOfSandbox tells that commands are not confined although they should be.
func WarnOfSandbox(h *cli.IO, s *App) {
	if s.Sandbox == nil {
		return
	}
	switch st := s.Sandbox.State(); {
	case st.Enabled && st.Backend == "":
		h.Warn("the sandbox is enabled, but this system has none (%s): commands that may change something are asked about", strings.Join(st.Unavailable, "; "))
	case len(st.Lacks) > 0:
		h.Warn("the sandbox %s does not hold all that it should: %s", st.Backend, strings.Join(st.Lacks, "; "))
	}
}

// warnOfBypass recommends the sandbox where nothing else bounds what commands do.
func warnOfBypass(h *cli.IO, s *App) {
	if permission.Mode(s.Options.Mode) == permission.Bypass && !s.workspace.Confines() {
		h.Warn("mode bypassPermissions without a sandbox: commands can read and change everything that you can; confine them with --sandbox on")
	}
}
