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
		{Agent: &agent.Agent{
			Name:        "general-purpose",
			Description: "any work that can be described in full",
			System:      generalText,
		}},
		{ReadOnly: true, Agent: &agent.Agent{
			Name:         "Explore",
			Description:  "finds things in files and history; changes nothing. Say how thorough to be",
			System:       exploreText,
			AllowedTools: lookers,
		}},
		{ReadOnly: true, Agent: &agent.Agent{
			Name:         "Plan",
			Description:  "works out the steps of a change; changes nothing",
			System:       planText,
			AllowedTools: lookers,
		}},
	}
}
