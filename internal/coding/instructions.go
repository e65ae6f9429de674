package coding

import (
	"fmt"

	"github.com/openagent-go/agent"
)

const projectContextKey = "projectContext"

// addInstructions adds notes about the folder to the agent, unless the settings disable them.
func (c *Coder) addInstructions() {
	on := true
	c.Settings.Decode(projectContextKey, &on)
	if !on || c.without(Instructions) || c.Agent.Context != nil {
		return
	}
	n := c.finder.Notes()
	c.notes, c.Agent.Context = n, n.Context
	for _, f := range n.Load(agent.Place{Dir: c.Dir}) {
		if f.Problem != nil {
			c.warn(Instructions, fmt.Errorf("the instruction file %s is left out: %w", f.Path, f.Problem))
		}
	}
	n.Prepare(c.Dir) // reads git's state while the rest starts
}

// InstructionFiles returns the instruction files passed to the model so far.
func (c *Coder) InstructionFiles() []string {
	if c.notes == nil {
		return []string{}
	}
	return append([]string{}, c.notes.Loaded()...)
}
