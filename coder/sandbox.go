package coder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// confine applies the sandbox settings to the workspace. Tools are created after it.
func (c *Coder) confine(context.Context) error {
	settings, some, err := parts.SandboxSettings(c.Settings)
	if err != nil || !some {
		return err
	}
	place := sandbox.Place{Dir: c.Dir, Roots: c.writableFolders(), Private: c.Agent.Permissions.Private, Deny: c.Agent.Permissions.Deny}
	if dir, err := tool.OutputDir(); err == nil {
		place.Readable = append(place.Readable, dir) // without it there are no long outputs to read
	}
	if c.Sandbox, err = sandbox.New(settings, place); err != nil {
		if c.options.Sandbox == Require && errors.Is(err, sandbox.ErrUnavailable) {
			err = &OptionError{Option: "Sandbox", Err: err}
		}
		return err
	}
	c.Workspace.Confine = c.Sandbox.Confiner()
	return nil
}

// writableFolders lists the additional folders that confined commands may write. If managed
// settings enable the sandbox, only their list counts.
func (c *Coder) writableFolders() []string {
	const key = "permissions.additionalDirectories"
	dirs := c.Agent.AdditionalDirs
	if !c.Settings.ManagedSandbox() {
		return dirs
	}
	var listed, out []string
	if v, ok := c.Settings.Managed(key); ok {
		_ = json.Unmarshal(v.Value, &listed) // already validated
	}
	for _, folder := range dirs {
		if slices.ContainsFunc(listed, func(name string) bool { return c.resolve(name) == folder }) {
			out = append(out, folder)
		} else {
			c.warn("", fmt.Errorf("%s is read-only: managed settings enable the sandbox, and their %s does not list the folder", folder, key))
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
	if c.Sandbox == nil || !c.Workspace.Confines() {
		return nil
	}
	return c.Sandbox
}

// warnOfSandbox warns if commands are not confined although they should be.
func (c *Coder) warnOfSandbox() {
	if text := parts.SandboxWarning(c.Sandbox); text != "" {
		c.warn(Confinement, errors.New(text))
	}
}
