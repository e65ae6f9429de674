package repl

import (
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/preview"
	"github.com/openagent-go/agent/cmd/openagent/internal/streamjson"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/tool"
)

// under shows the calls of a sub-agent and their failures. names are the agents above it, up to the
// root.
func (c *REPL) under(d event.AgentEvent, names string) {
	if d.Event == nil {
		return
	}
	names = strings.TrimPrefix(names+"/"+c.h.OneLine(d.Agent), "/")
	switch e := d.Event.Data.(type) {
	case event.AgentEvent:
		c.under(e, names)
	case event.AssistantMessage:
		for i, u := range e.Response.Message.ToolUses() {
			c.screen.Line(term.Dim, "  %s| * %s %s", names, u.Name, preview.InputSummary(u.Input))
			c.calls.Add(d.Event.Session+"/"+streamjson.CallID(d.Event.Seq, i), u)
		}
	case event.ToolResult:
		if e.Result.IsError {
			u, _ := c.calls.Get(d.Event.Session + "/" + e.Call)
			c.screen.Line(term.Red, "  %s|   ! %s: %s", names, u.Name, text.Runes(c.h.OneLine(app.ResultTitle(e)), 200))
		}
	case event.ModelFailed:
		c.screen.Line(term.Yellow, "  %s|   ! %s", names, c.h.OneLine(e.Message))
	}
}

// whose returns the name of the sub-agent that makes a call, or "" for the main agent.
func (c *REPL) whose(call tool.Call) string {
	if call.Session == "" || call.Session == c.s.Session.ID || call.Agent == "" {
		return ""
	}
	return c.h.OneLine(call.Agent) + ": "
}
