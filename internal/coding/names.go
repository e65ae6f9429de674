package coding

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/permission"
)

// checkNames warns of misspelt names of tools in the definitions of sub-agents and in skills. The
// names in the agent's own rules and lists are checked by its first prompt, see
// [agent.Agent.CheckTools]: the program may still add tools.
func (c *Coder) checkNames(ctx context.Context) {
	for _, d := range c.Definitions {
		if d.From == "built-in" {
			continue
		}
		warnings, err := c.withTools(agent.Agent{AllowedTools: d.Agent.AllowedTools, DisallowedTools: d.Agent.DisallowedTools, Permissions: d.Agent.Permissions}).CheckTools(ctx)
		if err != nil {
			c.warn(Agents, fmt.Errorf("the agent %s of %s cannot work: %s", d.Agent.Name, d.Source, Plain(err)))
		}
		for _, text := range warnings {
			c.warn(Agents, fmt.Errorf("the agent %s of %s: %s", d.Agent.Name, d.Source, text))
		}
	}
	if c.Skills == nil {
		return
	}
	for _, s := range c.Skills.All() {
		by := permission.Restriction{By: fmt.Sprintf("the skill %s of %s", s.Name, s.File()), Only: s.Tools}
		warnings, _ := c.withTools(agent.Agent{Permissions: permission.Policy{Restriction: &by}}).CheckTools(ctx)
		for _, text := range warnings {
			c.warn(Skills, errors.New(text))
		}
	}
}

// Plain returns the mistakes of a configuration as one line.
func Plain(err error) string {
	text := strings.ReplaceAll(err.Error(), "agent: "+agent.ErrConfig.Error()+": ", "")
	return strings.ReplaceAll(text, "\n", "; ")
}

// withTools returns an agent with the lists of names of a, and all tools that there are.
func (c *Coder) withTools(a agent.Agent) *agent.Agent {
	a.Tools, a.Toolsets = c.Agent.Tools, c.Agent.Toolsets
	a.Permissions.KnownTools = c.Agent.Permissions.KnownTools
	for _, e := range c.Builtins { // its own tools may be fewer
		a.Tools = append(a.Tools[:len(a.Tools):len(a.Tools)], e.Tool)
	}
	return &a
}
