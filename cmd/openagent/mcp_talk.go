package main

import "github.com/openagent-go/agent/mcp"

// showServers shows the MCP servers and their prompts.
func (c *repl) showServers() {
	list := c.s.serverStatus()
	if len(list) == 0 {
		c.screen.line(inPlain, "there are no MCP servers; openagent mcp add adds one")
	}
	for _, st := range list {
		colour, text := inPlain, plural(len(st.Tools), "tool")
		if st.State != mcp.Connected {
			colour, text = inYellow, string(st.State)
			if st.Error != "" {
				text += ": " + st.Error
			}
		}
		c.screen.line(colour, "%s  %s", c.h.oneLine(st.Name), short(c.h.oneLine(text), 300))
		for _, p := range st.Problems {
			c.screen.line(inYellow, "  %s", short(c.h.oneLine(p), 300))
		}
	}
	if c.s.servers == nil {
		return
	}
	for _, p := range c.s.servers.Prompts() {
		c.screen.line(inPlain, "%s  %s", c.h.oneLine(p.Usage()), short(c.h.oneLine(p.Description), 160))
	}
}
