// Package skill finds and keeps skills: folders with a SKILL.md, whose front matter states
// the purpose of the skill and the tools it may use. A model follows its text when the
// skill runs. The format is that of agentskills.io and Claude Code.
//
//	skills := skill.New(skill.BuiltIn(".")...)
//	n, problems := skills.Discover([]skill.Folder{{Path: "/home/me/.agents/skills"}})
//	a := &agent.Agent{Model: m, Tools: append(tools.Core(ws), tools.Skill(skills))}
//	in, err := skills.Expand("review", "HEAD~1")        // "/review HEAD~1"
//	res, err := a.Session("").Do(ctx, agent.Input{Expansion: in})
package skill

import (
	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/permission"
)

// A Skill is instructions for a kind of work, with settings that are in force while they
// are followed. It must not be changed once it is in a [Registry].
type Skill struct {
	Name        string // by which it is called
	Description string // tells the model when to use it
	// When says when a model should run it, beside the description.
	When    string
	Aliases []string // other names
	// Hint shows people the arguments, such as "[message]".
	Hint string
	// Tools are the only ones that may be used while it is in force; nil or empty is any.
	Tools []permission.Rule
	Model string // that answers while the skill works; "" is the agent's
	// Hidden: people cannot run it by its name; Manual: models cannot run it.
	Hidden, Manual bool
	// Available, unless nil, reports whether the skill makes sense at the moment.
	Available func() bool

	// Instructions are the text that the model follows. Those of a file are read when the
	// skill runs.
	Instructions string
	// Dir is the folder of the skill, absolute and free of symlinks; "" for none.
	Dir string
	// From is where the skill comes from, for people.
	From string

	file *file // nil: it comes from none
}

// available reports whether the skill can be run now.
func (s *Skill) available() bool { return s.Available == nil || s.Available() }

// File is the SKILL.md of the skill, "" if it has none.
func (s *Skill) File() string {
	if s.file == nil {
		return ""
	}
	return s.file.path
}

func (s *Skill) info() skillscope.Info {
	return skillscope.Info{Name: s.Name, Description: s.Description, When: s.When, Tools: s.Tools, Manual: s.Manual || !s.available()}
}
