package repl

import (
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/text"
)

// showServers shows the MCP servers and their prompts.
func (c *REPL) showServers() {
	list := c.s.ServerStatus()
	if len(list) == 0 {
		c.screen.Line(term.Plain, "no MCP servers; add one with openagent mcp add")
	}
	for _, st := range list {
		colour, state := term.Plain, cli.Plural(len(st.Tools), "tool")
		if st.State != mcpnames.Connected {
			colour, state = term.Yellow, string(st.State)
			if st.Error != "" {
				state += ": " + st.Error
			}
		}
		c.screen.Line(colour, "%s  %s", c.h.OneLine(st.Name), text.Runes(c.h.OneLine(state), 300))
		for _, p := range st.Problems {
			c.screen.Line(term.Yellow, "  %s", text.Runes(c.h.OneLine(p), 300))
		}
	}
	if c.s.Servers == nil {
		return
	}
	for _, p := range c.s.Servers.Prompts() {
		c.screen.Line(term.Plain, "%s  %s", c.h.OneLine(p.Usage()), text.Runes(c.h.OneLine(p.Description), 160))
	}
}
