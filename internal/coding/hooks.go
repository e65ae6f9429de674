package coding

import (
	"slices"

	hookshell "github.com/openagent-go/agent/hook/shell"
	"github.com/openagent-go/agent/workspace"
)

// addHooks adds the hooks of the plugins and the settings. They run outside the sandbox, like the
// user's own programs, unless the settings put them inside.
func (c *Coder) addHooks() {
	if c.without(Hooks) {
		return
	}
	list := slices.Clip(c.Agent.Hooks)
	if c.hooked() {
		list = append(list, c.finder.HooksOfPlugins(c.hookWorkspace())...)
	}
	for _, w := range c.Settings.Hooks() {
		h := hookshell.Hook(w.Event, w.Match, hookshell.Command{Workspace: c.hookWorkspace(), Line: w.Command, Project: c.finder.Project, Async: w.Async})
		h.Timeout = w.Timeout
		list = append(list, h)
	}
	c.Agent.Hooks = list
}

// hookWorkspace returns the workspace in which hook commands run.
func (c *Coder) hookWorkspace() *workspace.Workspace {
	within := false
	c.Settings.Decode("hooks_in_sandbox", &within)
	if within {
		return c.Workspace
	}
	if c.hooks == nil {
		ws := c.Workspace
		c.hooks = &workspace.Workspace{Root: ws.Root, Dirs: ws.Dirs, Env: ws.Env, Pass: ws.Pass}
	}
	return c.hooks
}

// hooked reports whether hooks of plugins and definitions run. The settings can disable all hooks.
func (c *Coder) hooked() bool {
	off := false
	c.Settings.Decode("disableAllHooks", &off)
	return !off && !c.without(Hooks)
}
