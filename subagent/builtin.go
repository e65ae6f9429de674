package subagent

import (
	_ "embed"

	"github.com/openagent-go/agent"
)

//go:embed builtin/general.md
var generalText string

//go:embed builtin/explore.md
var exploreText string

//go:embed builtin/plan.md
var planText string

// lookers are the tools of kinds that only look.
var lookers = []string{"Read", "Glob", "Grep", "Bash"}

// Builtin returns the kinds that are always there, the one for any work first.
func Builtin() []Definition {
	return []Definition{
		{Description: "any work that can be described in full", Agent: &agent.Agent{
			Name:   "general-purpose",
			System: generalText,
		}},
		{Description: "finds things in files and history; changes nothing. Say how thorough to be", ReadOnly: true, Agent: &agent.Agent{
			Name:         "Explore",
			System:       exploreText,
			AllowedTools: lookers,
		}},
		{Description: "works out the steps of a change; changes nothing", ReadOnly: true, Agent: &agent.Agent{
			Name:         "Plan",
			System:       planText,
			AllowedTools: lookers,
		}},
	}
}
