package coding

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/config"
)

var (
	sandboxes = []Sandbox{IfAvailable, Require, Off, FromSettings}
	partNames = []Part{Settings, Hooks, Servers, Agents, Skills, Tools, Plugins, Instructions, Checkpoints, Team}
	layers    = []config.Scope{config.User, config.Project, config.Local}
)

// check refuses options that would have no effect, or another one than you meant.
func (o *Options) check() error {
	if err := oneOf("Sandbox", sandboxes, o.Sandbox); err != nil {
		return err
	}
	if err := oneOf("Without", partNames, o.Without...); err != nil {
		return err
	}
	if err := oneOf("Layers", layers, o.Layers...); err != nil {
		return err
	}
	if o.Agent.Dir != "" {
		return &OptionError{Option: "Agent.Dir", Err: errors.New("set Options.Dir instead; the workspace and the sandbox get the folder from there")}
	}
	if o.Builtins.Workspace != nil {
		return &OptionError{Option: "Builtins.Workspace", Err: errors.New("a coding agent works on this machine, in Options.Dir; " +
			"for files elsewhere or in memory, give tools.Builtins{Workspace: …}.Tools() or tools.Core to an agent.Agent")}
	}
	if o.Builtins.Sandbox != nil {
		return &OptionError{Option: "Builtins.Sandbox", Err: errors.New("a coding agent makes its own sandbox; use Options.Sandbox and Options.SandboxSettings")}
	}
	return nil
}

// oneOf refuses words that an option does not have.
func oneOf[W ~string](option string, known []W, given ...W) error {
	for _, w := range given {
		if slices.Contains(known, w) {
			continue
		}
		names := make([]string, len(known))
		for i, k := range known {
			names[i] = fmt.Sprintf("%q", string(k))
		}
		return &OptionError{option, fmt.Sprintf("%q", string(w)), fmt.Errorf("there is no such value; use one of %s", strings.Join(names, ", "))}
	}
	return nil
}
