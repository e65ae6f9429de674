package coding

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/tooloutput"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/tools"
)

// newSandbox makes sandboxes. A test replaces it by a system that has none.
var newSandbox = sandbox.New

// confine applies the sandbox settings to the workspace. Tools are created after it.
func (c *Coder) confine(context.Context) error {
	settings, some, err := parts.SandboxSettings(c.Settings)
	if err != nil || !some || c.options.Sandbox == Off && !settings.Enabled && !c.limits() {
		return err
	}
	place := sandbox.Place{Dir: c.Dir, Roots: c.writableFolders(), Private: c.Agent.Permissions.Private, Deny: c.Agent.Permissions.Deny}
	if dir, err := tooloutput.Dir(); err == nil {
		place.Readable = append(place.Readable, dir) // without it there are no long outputs to read
	}
	if c.Sandbox, err = newSandbox(settings, place); err != nil {
		if c.options.Sandbox == Require && errors.Is(err, sandbox.ErrUnavailable) {
			err = &OptionError{Option: "Sandbox", Err: err}
		}
		return err
	}
	c.Workspace.Confine = c.Sandbox.Confiner()
	return nil
}

// limits reports whether options or settings set rules of the sandbox, which hold without it too.
func (c *Coder) limits() bool {
	for _, k := range config.Keys() {
		if !strings.HasPrefix(k.Name, parts.SandboxPrefix) || k.Name == parts.SandboxPrefix+"enabled" {
			continue
		}
		if v, err := c.Settings.Get(k.Name); err == nil && v.Value != nil && v.Source.Scope != config.Default {
			return true
		}
	}
	return false
}

// writableFolders lists the additional folders that confined commands may write. If managed
// settings enable the sandbox, only their list counts.
func (c *Coder) writableFolders() []string {
	dirs := c.Agent.AdditionalDirs
	if !c.Settings.ManagedSandbox() {
		return dirs
	}
	var listed, out []string
	if v, ok := c.Settings.Managed(parts.FoldersKey); ok {
		_ = json.Unmarshal(v.Value, &listed) // already validated
	}
	for _, folder := range dirs {
		if slices.ContainsFunc(listed, func(name string) bool { return parts.ResolveFolder(name, c.Dir) == folder }) {
			out = append(out, folder)
		} else {
			c.warn("", fmt.Errorf("%s is read-only: managed settings enable the sandbox, and their %s does not list the folder", folder, parts.FoldersKey))
		}
	}
	return out
}

// addSandboxDecider lets the sandbox decide on the agent's calls.
func (c *Coder) addSandboxDecider() {
	if c.Sandbox == nil {
		return
	}
	a := c.Agent
	a.Permissions.AllowConfined = c.Sandbox.AutoAllow()
	a.Deciders = append(slices.Clip(a.Deciders), c.Sandbox)
}

// box returns the sandbox of Bash, or nil if commands are not confined.
func (c *Coder) box() tools.Sandbox {
	if c.Sandbox == nil || c.Workspace.Confine == nil {
		return nil
	}
	return c.Sandbox
}

// warnOfSandbox warns if commands are not confined although they should be, and of rules that the
// sandbox cannot hold.
func (c *Coder) warnOfSandbox() {
	if text := parts.SandboxWarning(c.Sandbox); text != "" {
		c.warn(Confinement, errors.New(text))
	}
	if c.box() == nil {
		return // commands that may change something need permission
	}
	for _, r := range c.Agent.Permissions.Deny {
		if rules.Rule(r).EscapesSandbox() {
			c.warn(Confinement, fmt.Errorf("the sandbox cannot hold the deny rule %s: it binds tools, but a confined program reaches the files; "+
				"for writing, deny a file or folder, such as Edit(/tests/**); for reading, use deniedPaths of the sandbox", r))
		}
	}
}
