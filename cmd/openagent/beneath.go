package main

import (
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/tool"
)

// under shows what an agent does that works for another: its calls, and those that
// fail. Names are those of the agents above it, up to the root.
func (c *repl) under(d event.AgentEvent, names string) {
	if d.Event == nil {
		return
	}
	names = strings.TrimPrefix(names+"/"+c.h.oneLine(d.Agent), "/")
	switch e := d.Event.Data.(type) {
	case event.AgentEvent:
		c.under(e, names)
	case event.AssistantMessage:
		for i, u := range e.Response.Message.ToolUses() {
			c.screen.line(inDim, "  %s| * %s %s", names, u.Name, briefly(u.Input))
			c.calls.add(d.Event.Session+"/"+callID(d.Event.Seq, i), u)
		}
	case event.ToolResult:
		if e.Result.IsError {
			u, _ := c.calls.get(d.Event.Session + "/" + e.Call)
			c.screen.line(inRed, "  %s|   ! %s: %s", names, u.Name, short(c.h.oneLine(title(e)), 200))
		}
	case event.ModelFailed:
		c.screen.line(inYellow, "  %s|   ! %s", names, c.h.oneLine(e.Message))
	}
}

// whose is the name of the agent that makes a call, where it works for another one.
func (c *repl) whose(call tool.Call) string {
	if call.Session == "" || call.Session == c.s.session.ID || call.Agent == "" {
		return ""
	}
	return c.h.oneLine(call.Agent) + ": "
}

// under shows the calls of an agent that works for the one of the demo.
func (v *demoView) under(d event.AgentEvent) {
	if d.Event == nil {
		return
	}
	if m, ok := d.Event.Data.(event.AssistantMessage); ok {
		for _, u := range m.Response.Message.ToolUses() {
			v.line(inDim, "  "+v.host.oneLine(d.Agent)+" | "+u.Name+" "+cut(v.host.oneLine(briefly(u.Input)), demoWidth-20))
		}
	}
}
