package subagent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/tool"
)

// own returns the kinds of agents that the program gave, in the order in which they count.
func (c *Manager) own() []Definition {
	var all []Definition
	for _, a := range c.Agents {
		all = append(all, Definition{Agent: a})
	}
	return append(all, c.Definitions...)
}

// CheckSubagents implements [toolapi.SubagentChecker]. The error is about kinds that cannot be
// started, the warnings are about misspelt names of tools. Files were checked when they were read.
func (s spawner) CheckSubagents(ctx context.Context, parents []tool.Tool, known []string) (warnings []string, err error) {
	var errs []error
	for i, d := range s.c.own() {
		switch {
		case d.Agent == nil:
			errs = append(errs, fmt.Errorf("the sub-agent %d of the Manager has no Agent", i+1))
		case d.Agent.Name == "":
			errs = append(errs, fmt.Errorf("the sub-agent %d of the Manager has no name: set Agent.Name", i+1))
		case d.Isolation != "" && d.Isolation != worktreeIsolation:
			errs = append(errs, fmt.Errorf("the sub-agent %s: there is no Isolation %q, only %q", d.Agent.Name, d.Isolation, worktreeIsolation))
		case d.Source == "":
			for _, why := range misspelt(ctx, d.Agent, parents, known) {
				warnings = append(warnings, fmt.Sprintf("the sub-agent %s: %s", d.Agent.Name, why))
			}
		}
	}
	return warnings, errors.Join(errs...)
}

// misspelt returns what is wrong with names of tools in an agent that gets tools of its parents.
func misspelt(ctx context.Context, a *agent.Agent, parents []tool.Tool, known []string) []string {
	if len(a.Toolsets) > 0 { // they are not asked before the agent starts
		return nil
	}
	check := agent.Agent{AllowedTools: a.AllowedTools, DisallowedTools: a.DisallowedTools, DeferredTools: a.DeferredTools, Permissions: a.Permissions}
	check.Tools = slices.Concat(parents, a.Tools)
	check.Permissions.KnownTools = slices.Concat(known, a.Permissions.KnownTools)
	warnings, err := check.CheckTools(ctx)
	if err != nil {
		text := strings.ReplaceAll(err.Error(), "agent: "+agent.ErrConfig.Error()+": ", "")
		warnings = append(strings.Split(text, "\n"), warnings...)
	}
	return warnings
}
