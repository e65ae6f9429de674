package app

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/memory"
	"github.com/openagent-go/agent/skill"
	"github.com/openagent-go/agent/skill/learn"
)

// SkillProposals returns the proposals about skills of this machine's user, for all projects.
func SkillProposals(h *cli.IO) (*learn.Store, error) {
	home, err := h.Home()
	if err != nil {
		return nil, err
	}
	return &learn.Store{Dir: filepath.Join(home, "skill-proposals")}, nil
}

// WhyRefused says why a proposal about a skill was refused, in words that can follow "refused".
func WhyRefused(p memory.SkillProposal) string {
	return strings.TrimPrefix(p.Refused, learn.ErrRefused.Error()+": ")
}

// Proposer makes proposals about the skills of the App, for the working folder.
func (s *App) Proposer(h *cli.IO) (*learn.Proposer, error) {
	store, err := SkillProposals(h)
	if err != nil {
		return nil, err
	}
	p := &learn.Proposer{Store: store, Skills: s.Skills}
	if p.Skills == nil {
		p.Skills = skill.New()
	}
	if p.Project, err = filepath.EvalSymlinks(s.Project); err != nil {
		return nil, err
	}
	if home, err := os.UserHomeDir(); err == nil {
		if p.Home, err = filepath.EvalSymlinks(home); err != nil {
			p.Home = ""
		}
	}
	return p, nil
}
