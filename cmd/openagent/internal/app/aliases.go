package app

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/tool"
)

// An aliasSet holds the tools of MCP servers. The model may call some of them by other names too.
type aliasSet struct {
	*mcp.Servers
	names map[string][]string // by tool
}

// Tools returns the tools.
func (s aliasSet) Tools(ctx context.Context) ([]tool.Tool, error) {
	list, err := s.Servers.Tools(ctx)
	out := slices.Clone(list)
	for i, t := range out {
		names := s.names[t.Spec().Name]
		if own, ok := t.(serverTool); ok && len(names) > 0 {
			out[i] = aliased{own, names}
		}
	}
	return out, err
}

// A serverTool is a tool of a server, with what else it knows of its calls.
type serverTool interface {
	tool.Tool
	tool.Classifier
	toolrun.Validator
	toolrun.Repairer
}

// aliased is a tool with further names for calls. Rules do not know these.
type aliased struct {
	serverTool
	names []string
}

// CallNames implements [toolrun.Aliased].
func (a aliased) CallNames() []string { return a.names }

// addAliases has calls of tools by the names of aliases reach tools of MCP servers. Built-in tools of
// these names are taken away, so that no call can reach them.
func (s *App) addAliases(aliases map[string]string) error {
	set := aliasSet{s.Servers, map[string][]string{}}
	for _, name := range slices.Sorted(maps.Keys(aliases)) {
		to := aliases[name]
		if !strings.HasPrefix(to, "mcp__") || strings.HasPrefix(name, "mcp__") || name == "" {
			return cli.Usagef("initialize: toolAliases: %s cannot mean %s; a built-in tool can mean a tool of an MCP server, such as mcp__box__run", cli.Clip(name), cli.Clip(to))
		}
		set.names[to] = append(set.names[to], name)
		s.Agent.Tools = slices.DeleteFunc(slices.Clone(s.Agent.Tools), named(name))
		s.Agent.DeferredTools = slices.DeleteFunc(slices.Clone(s.Agent.DeferredTools), func(n string) bool { return n == name })
	}
	for i, t := range s.Agent.Toolsets {
		if t == tool.Set(s.Servers) {
			s.Agent.Toolsets = slices.Clone(s.Agent.Toolsets)
			s.Agent.Toolsets[i] = set
			return nil
		}
	}
	return cli.Usagef("initialize: toolAliases: there are no MCP servers")
}
