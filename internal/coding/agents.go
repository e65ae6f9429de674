package coding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// findPlugins finds the trusted plugins.
func (c *Coder) findPlugins(ctx context.Context) error {
	if c.without(Plugins) {
		c.finder.Folders = nil
	}
	err := c.finder.FindPlugins(ctx)
	var wrong *parts.PluginError
	if errors.As(err, &wrong) {
		return &OptionError{"Plugins", wrong.Dir, fmt.Errorf("%w; correct the file or leave the plugin out", wrong.Err)}
	}
	return err
}

// findDefinitions finds the definitions of sub-agents, and that of the agent itself.
func (c *Coder) findDefinitions(ctx context.Context) error {
	list := parts.AddDefinitions(nil, "built-in", subagent.Builtin()...)
	if !c.without(Agents) {
		var err error
		if list, err = c.finder.FindDefinitions(ctx, c.hookWorkspace()); err != nil {
			return err
		}
	}
	if raw := c.options.Definitions; len(raw) > 0 {
		more, notes, err := subagent.ParseJSON(raw, c.hookWorkspace())
		if err != nil {
			return &OptionError{Option: "Definitions", Err: err}
		}
		for _, n := range notes {
			c.warn(Agents, &OptionError{Option: "Definitions", Err: errors.New(n)})
		}
		list = parts.AddDefinitions(list, "options", more...)
	}
	for _, d := range list {
		if !c.hooked() {
			d.Agent.Hooks = nil
		}
		c.Definitions = append(c.Definitions, Definition(d))
	}
	return c.runAs()
}

// runAs applies the definition that the agent runs as. Options override it, except for its limits on
// tools.
func (c *Coder) runAs() error {
	name := c.options.RunAs
	if name == "" {
		return nil
	}
	i := slices.IndexFunc(c.Definitions, func(d Definition) bool { return strings.EqualFold(d.Agent.Name, name) })
	if i < 0 {
		return &OptionError{Option: "RunAs", Err: c.unknownDefinition(name)}
	}
	d := &c.Definitions[i]
	c.RunsAs = d
	a, s := c.Agent, c.Settings
	if m := d.Agent.Permissions.Mode; m != "" && !c.explicit("permissions.defaultMode") {
		if err := a.AllowModeChange(m); err != nil {
			return &OptionError{"RunAs", d.Agent.Name, err}
		}
		a.Permissions.Mode = m
	}
	if d.Agent.Budget.Turns > 0 && !c.explicit("max_turns") {
		a.Budget.Turns = d.Agent.Budget.Turns
	}
	_, fixed := s.Managed("effort")
	if e := d.Agent.Thinking.Effort; e != "" && !fixed && !c.explicit("effort") && !c.explicit("max_thinking_tokens") {
		a.Thinking.Effort, a.Thinking.Budget = e, 0
	}
	a.Permissions.Deny = slices.Concat(a.Permissions.Deny, d.Agent.Permissions.Deny)
	return nil
}

func (c *Coder) unknownDefinition(name string) error {
	names := []string{}
	for _, d := range c.Definitions {
		names = append(names, d.Agent.Name)
	}
	hint := "; there are " + text.Bytes(strings.Join(names, ", "), 500)
	if near := text.Nearest(name, names); near != "" && len(name) < 100 {
		hint = "; did you mean " + near + "?"
	}
	return fmt.Errorf("there is no agent %q%s", text.Bytes(name, 80), hint)
}

// narrow applies the limits of its own definition to the agent.
func (c *Coder) narrow() {
	if c.RunsAs == nil {
		return
	}
	a, k := c.Agent, c.RunsAs.Bounded()
	a.Name = k.Name
	a.AllowedTools, a.DisallowedTools = k.AllowedTools, k.DisallowedTools
	a.Hooks = slices.Concat(a.Hooks, k.Hooks)
	a.Deciders = slices.Concat(a.Deciders, k.Deciders)
}

// addManager adds the manager of sub-agents. They share tasks, teams and mail with the agent.
func (c *Coder) addManager(k *tools.Builtins) {
	m := &subagent.Manager{Worktrees: c.Workspace, Team: c.team, Skill: c.skillText, Connect: c.connect}
	for _, d := range c.Definitions { // a sub-agent should know its environment
		own := *d.Agent
		own.System += "\n\n" + parts.Surroundings(c.Dir, time.Now())
		d.Agent = &own
		m.Definitions = append(m.Definitions, d.Definition)
	}
	c.manager = m
	if k.Agents == nil {
		k.Agents = guardedManager{m, c}
	}
}

// A guardedManager is a Manager that lets the model choose only models that are permitted. Trusted
// definitions may name any.
type guardedManager struct {
	manager *subagent.Manager
	coder   *Coder
}

// Subagents implements [tools.Spawner].
func (m guardedManager) Subagents() tools.Subagents {
	inner := toolapi.Handle[toolapi.Spawner](m.manager.Subagents()).Value()
	return tools.Subagents(toolapi.NewHandle[toolapi.Spawner](guardedSpawner{inner.(toolapi.Agents), m.coder}))
}

type guardedSpawner struct {
	toolapi.Agents
	coder *Coder
}

// Spawn implements [toolapi.Spawner].
func (m guardedSpawner) Spawn(ctx context.Context, s toolapi.Spawn) (*toolapi.Spawned, error) {
	if permits := m.coder.models.Permits; permits != nil {
		if err := permits(s.Model); err != nil {
			return nil, err
		}
	}
	return m.Agents.Spawn(ctx, s)
}

// skillText returns the text of a skill for a sub-agent that starts with it.
func (c *Coder) skillText(_ context.Context, name string) (string, error) {
	if c.Skills == nil {
		return "", fmt.Errorf("this agent has no skills, so it cannot have %s", name)
	}
	return c.Skills.Text(name)
}

// connect starts the MCP servers of a sub-agent definition. It returns their tools and a function
// that stops them.
func (c *Coder) connect(ctx context.Context, servers []subagent.Server) ([]tool.Tool, func(), error) {
	if why := c.options.OnlyServers; why != "" {
		return nil, nil, fmt.Errorf("%s does not allow MCP servers of agents", why)
	}
	configs, err := c.finder.ServersOf(servers)
	if err != nil {
		return nil, nil, err
	}
	o := c.serverOptions()
	o.Wait = serverPatience
	BoundCalls(configs, c.options.CallTime)
	all := mcp.New(configs, o)
	all.Start()
	release := func() {
		if err := all.Close(); err != nil {
			c.warn(Servers, fmt.Errorf("ending the MCP servers of an agent: %w", err))
		}
	}
	ts, err := all.Tools(ctx)
	for _, st := range all.Status() {
		if st.State != mcpnames.Connected && err == nil {
			err = fmt.Errorf("the MCP server %s: %s", st.Name, cmp.Or(st.Error, string(st.State)))
		}
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return ts, release, nil
}

// serverPatience is how long a prompt waits for servers.
const serverPatience = 10 * time.Second

// findServers finds the MCP servers without connecting to them.
func (c *Coder) findServers(ctx context.Context) error {
	if c.without(Servers) {
		return nil
	}
	configs := map[string]mcp.Config{}
	if c.options.OnlyServers == "" {
		var err error
		if configs, err = c.finder.FindServers(ctx); err != nil {
			return err
		}
	}
	maps.Copy(configs, c.options.Servers)
	for _, d := range c.Definitions {
		own, err := c.finder.ServersOf(d.Servers)
		if err != nil {
			continue // the error names the agent
		}
		for _, server := range own {
			c.hide(parts.ServerSecrets(server)...)
		}
	}
	if c.RunsAs != nil && c.options.OnlyServers == "" {
		own, err := c.finder.ServersOf(c.RunsAs.Servers)
		if err != nil {
			return &OptionError{"RunAs", c.RunsAs.Agent.Name, err}
		}
		maps.Copy(configs, own)
	}
	if len(configs) == 0 && c.options.Servers == nil {
		return nil
	}
	for _, server := range configs {
		c.hide(parts.ServerSecrets(server)...)
	}
	o := c.serverOptions()
	logged := o.Changed
	o.Changed = func(st mcp.Status) {
		logged(st)
		if tell := c.options.OnServer; tell != nil {
			tell(st)
		}
	}
	if o.Wait = cmp.Or(c.options.ServerWait, serverPatience); o.Wait < 0 {
		o.Wait = 0
	}
	BoundCalls(configs, c.options.CallTime)
	c.ServerConfigs = configs
	c.Servers = mcp.New(configs, o)
	for _, st := range c.Servers.Status() {
		if st.State == mcpnames.Failed {
			c.warn(Servers, fmt.Errorf("the MCP server %s: %s", st.Name, st.Error))
		}
	}
	return nil
}

// BoundCalls sets the time in milliseconds that a call may take, for servers that set no limit of their
// own. 0 changes nothing.
func BoundCalls(servers map[string]mcp.Config, limit int) {
	if limit == 0 {
		return
	}
	for name, s := range servers {
		if s.TimeoutMS == 0 && s.MaxTimeMS == 0 {
			s.TimeoutMS, s.MaxTimeMS = limit, limit
			servers[name] = s
		}
	}
}

func (c *Coder) serverOptions() mcp.Options {
	log := c.log()
	return mcp.Options{Workspace: c.Workspace, Host: c.options.DialHost, Logins: parts.Logins(c.finder.Home), LoginCommand: parts.LoginCommand, Version: c.options.Version, Log: log, Changed: func(st mcp.Status) {
		if st.State == mcpnames.Failed || st.State == mcpnames.NeedsAuth {
			log.Warn("an MCP server is unavailable", "server", st.Name, "error", st.Error)
		}
	}}
}

// startServers adds the tools of the servers to the agent and starts to connect.
func (c *Coder) startServers() {
	if c.Servers == nil {
		return
	}
	c.Servers.Start()
	c.Agent.Toolsets = append(slices.Clip(c.Agent.Toolsets), c.Servers)
}
