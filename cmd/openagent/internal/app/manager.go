package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// addManager adds the sub-agent manager. Sub-agents share the run's tasks, teams and mail.
func addManager(h *cli.IO, s *App, k *tools.Builtins) {
	c := &subagent.Manager{Worktrees: s.workspace, Team: s.shared}
	for _, kind := range s.Definitions { // a sub-agent should know its environment
		own := *kind.Agent
		own.System += "\n\n" + surroundings(s.Project, time.Now())
		d := kind.Definition
		d.Agent = &own
		c.Definitions = append(c.Definitions, d)
	}
	c.Skill = s.skillText
	c.Connect = func(ctx context.Context, servers []subagent.Server) ([]tool.Tool, func(), error) {
		return connect(ctx, h, s, servers)
	}
	s.manager = c
	k.Agents, k.Teams, k.Mail = &providerGuard{c, s}, s.shared, s.shared
	k.Background = append(k.Background, c)
}

// A providerGuard is a Manager that lets the model choose only models of the current provider. Only
// trusted sub-agent definitions may name another provider.
type providerGuard struct {
	*subagent.Manager
	setup *App
}

// Spawn implements [tools.Spawner].
func (k *providerGuard) Spawn(ctx context.Context, s tools.Spawn) (*tools.Spawned, error) {
	if to, _, ok := k.setup.Provider.SplitName(s.Model); ok && to != k.setup.Provider.Name.Value {
		return nil, fmt.Errorf("the model %q names the provider %s; name a model of %s, or none", cli.Clip(s.Model), to, k.setup.Provider.Name.Value)
	}
	return k.Manager.Spawn(ctx, s)
}

// skillText returns the text of a skill for a sub-agent that starts with it.
func (s *App) skillText(_ context.Context, name string) (string, error) {
	if s.Skills == nil {
		return "", fmt.Errorf("this agent has no skills, so it cannot have %s", name)
	}
	return s.Skills.Text(name)
}

// connect starts the MCP servers of a sub-agent definition. It returns their tools and a function
// that stops them.
func connect(ctx context.Context, h *cli.IO, s *App, servers []subagent.Server) ([]tool.Tool, func(), error) {
	if s.Options.MCPStrict {
		return nil, nil, errors.New("--strict-mcp-config does not allow MCP servers of agents")
	}
	configs, err := serversOf(h, servers)
	if err != nil {
		return nil, nil, err
	}
	o := serverOptions(h, s)
	o.Wait = serverPatience
	all := mcp.New(configs, o)
	all.Start()
	release := func() {
		if err := all.Close(); err != nil {
			o.Log.Warn("ending the MCP servers of an agent", "error", err)
		}
	}
	ts, err := all.Tools(ctx)
	for _, st := range all.Status() {
		if st.State != mcp.Connected && err == nil {
			err = fmt.Errorf("the MCP server %s: %s", st.Name, cmp.Or(st.Error, string(st.State)))
		}
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return ts, release, nil
}

// serversOf reads the server configurations of a definition.
func serversOf(h *cli.IO, servers []subagent.Server) (map[string]mcp.Config, error) {
	configs := map[string]mcp.Config{}
	for _, server := range servers {
		if server.Config == nil {
			continue
		}
		data, err := cli.EncodeLine(map[string]any{"mcpServers": map[string]any{server.Name: server.Config}})
		if err != nil {
			return nil, err
		}
		found, err := mcp.Parse(data, h.Getenv)
		if err != nil {
			return nil, err
		}
		c, ok := found[server.Name]
		if !ok {
			return nil, errors.New("the configuration of " + server.Name + " is empty")
		}
		configs[server.Name] = c
	}
	return configs, nil
}
