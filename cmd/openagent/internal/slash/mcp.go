package slash

import (
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/text"
)

// showServers shows the MCP servers and their prompts.
func (c *Commands) showServers() {
	list := c.App.ServerStatus()
	if len(list) == 0 {
		c.Screen.Line(term.Plain, "no MCP servers; add one with openagent mcp add")
	}
	for _, st := range list {
		colour, state := term.Plain, cli.Plural(len(st.Tools), "tool")
		if st.State != mcpnames.Connected {
			colour, state = term.Yellow, string(st.State)
			if st.Error != "" {
				state += ": " + st.Error
			}
		}
		c.Screen.Line(colour, "%s  %s", c.H.OneLine(st.Name), text.Runes(c.H.OneLine(state), 300))
		for _, p := range st.Problems {
			c.Screen.Line(term.Yellow, "  %s", text.Runes(c.H.OneLine(p), 300))
		}
	}
	if c.App.Servers == nil {
		return
	}
	for _, p := range c.App.Servers.Prompts() {
		c.Screen.Line(term.Plain, "%s  %s", c.H.OneLine(p.Usage()), text.Runes(c.H.OneLine(p.Description), 160))
	}
}
