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
			Description: "any piece of work that can be done apart: searches of several steps, changes that can be described in full",
			System:      generalText,
		}},
		{ReadOnly: true, Agent: &agent.Agent{
			Name:         "Explore",
			Description:  "finds things in files and history and says where they are; changes nothing. Say how thorough it is to be",
			System:       exploreText,
			AllowedTools: lookers,
		}},
		{ReadOnly: true, Agent: &agent.Agent{
			Name:         "Plan",
			Description:  "works out how a change is to be made, step by step with the files to touch; changes nothing",
			System:       planText,
			AllowedTools: lookers,
		}},
	}
}
