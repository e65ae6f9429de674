package main

import (
	"errors"
)

// A workingAgent is an agent that is at work for the session.
type workingAgent struct {
	ID         string `json:"agent_id"`
	Name       string `json:"agent_name"`
	Call       string `json:"call"` // that has started it
	Background bool   `json:"background"`
}

// agentsAtWork lists the agents that are at work.
func (s *setup) agentsAtWork() []workingAgent {
	list := []workingAgent{}
	for _, at := range s.session.Children() {
		list = append(list, workingAgent{at.Session, at.Agent, at.Call, at.Background})
	}
	return list
}

// agents lists the agents at work and the kinds, or stops agents.
func (c *repl) agents(words []string) error {
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
	for _, a := range c.s.agentsAtWork() {
		errs = append(errs, c.stopAgent(a.ID))
	}
	if len(errs) == 0 {
		c.screen.line(inDim, "no agent is at work")
	}
	return errors.Join(errs...)
}

func (c *repl) stopAgent(id string) error {
	if err := c.s.session.StopAgent(id); err != nil {
		return err
	}
	c.screen.line(inYellow, "stopping the agent %s", c.h.oneLine(id))
	return nil
}

func (c *repl) listAgents() {
	for _, a := range c.s.agentsAtWork() {
		where := "its caller waits"
		if a.Background {
			where = "in the background"
		}
		c.screen.line(inPlain, "at work: %s, %s (%s)", c.h.oneLine(a.Name), where, a.ID)
	}
	for _, k := range c.s.kinds {
		e := k.shown()
		c.screen.line(inPlain, "%s (%s, %s): %s", e.Name, e.From, e.does(), short(c.h.oneLine(e.Description), 200))
	}
}
