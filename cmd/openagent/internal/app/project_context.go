package app

import (
	"os"
	"slices"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/project"
)

const projectContextKey = "projectContext"

// AddProjectContext adds the project context to the agent, unless the settings disable it.
func AddProjectContext(h *cli.IO, s *App) {
	if o := s.Options; o.Settings != nil {
		on := true
		if o.Settings.Decode(projectContextKey, &on); !on {
			return
		}
	}
	n := NewProjectContext(h, s.Options)
	s.projectContext, s.Agent.Context = n, n.Context
	for _, f := range n.Load(agent.Place{Dir: s.Project}) {
		if f.Problem != nil {
			h.Warn("the instruction file %s is left out: %v", f.Path, f.Problem)
		}
	}
	n.Prepare(s.Project) // reads git's state while the rest starts
}

// NewProjectContext returns the project context that the options ask for.
func NewProjectContext(h *cli.IO, o *settings.Options) *project.Notes {
	n := &project.Notes{NoProject: o.Layers != nil && !slices.Contains(o.Layers, string(config.Project))}
	if o.Layers == nil || slices.Contains(o.Layers, string(config.User)) {
		n.Home, _ = h.Home()
		n.UserHome, _ = os.UserHomeDir()
	}
	return n
}

// InstructionFiles returns the instruction files passed to the model so far.
func (s *App) InstructionFiles() []string {
	if s.projectContext == nil {
		return []string{}
	}
	return append([]string{}, s.projectContext.Loaded()...)
}
