package slash

import (
	"errors"

	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/internal/text"
)

// agents lists the running sub-agents and the definitions, or stops sub-agents.
func (c *Commands) agents(words []string) error {
	switch {
	case len(words) == 0:
		c.listAgents()
		return nil
	case words[0] != "stop" || len(words) != 2:
		return errors.New("write /agents, /agents stop ID, /agents stop NAME or /agents stop all")
	case words[1] != "all":
		return c.stopAgent(words[1])
	}
	var errs []error
	for _, a := range c.App.RunningAgents() {
		errs = append(errs, c.stopAgent(a.ID))
	}
	if len(errs) == 0 {
		c.Screen.Line(term.Dim, "no agent is running")
	}
	return errors.Join(errs...)
}

func (c *Commands) stopAgent(id string) error {
	if err := c.App.Session.StopAgent(id); err != nil {
		return err
	}
	c.Screen.Line(term.Yellow, "stopping the agent %s", c.H.OneLine(id))
	return nil
}

func (c *Commands) listAgents() {
	for _, a := range c.App.RunningAgents() {
		where := "its caller waits"
		if a.Background {
			where = "in the background"
		}
		c.Screen.Line(term.Plain, "at work: %s, %s (%s)", c.H.OneLine(a.Name), where, a.ID)
	}
	for _, k := range c.App.Definitions {
		e := k.Entry()
		c.Screen.Line(term.Plain, "%s (%s, %s): %s", e.Name, e.From, e.Access(), text.Runes(c.H.OneLine(e.Description), 200))
	}
}
