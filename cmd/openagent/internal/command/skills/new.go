package skills

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/skill"
)

// newSkill writes a new SKILL.md.
func newSkill(h *cli.IO, o *skillsOptions, dir, name string) error {
	base := filepath.Join(dir, ".agents", "skills")
	if o.user {
		home, err := os.UserHomeDir()
		if err != nil {
			return cli.Usagef("skills new: finding the home folder: %w", err)
		}
		base = filepath.Join(home, ".agents", "skills")
	}
	if err := skill.New().Register(&skill.Skill{Name: name}); err != nil {
		return cli.Usagef("skills new: %w", err)
	}
	file := filepath.Join(base, name, skillscope.FileName)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return cli.Usagef("skills new: %w", err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return cli.Usagef("skills new: %s exists already; choose another name, or edit it", file)
	}
	if err != nil {
		return cli.Usagef("skills new: %w", err)
	}
	_, err = fmt.Fprintf(f, newSkillText, name)
	if err := errors.Join(err, f.Close()); err != nil {
		return cli.Usagef("skills new: %w", err)
	}
	next := "edit it, then run openagent skills lint"
	if !o.user {
		next += "; to enable it, run openagent trust add " + text.QuoteShell(dir)
	}
	return h.Show(file + "\n" + next + "\n")
}

const newSkillText = `---
name: %s
description: What it is for, in a line; models choose by it
when-to-use: what the user asks for when it fits
argument-hint: "[what comes after the name]"
# The only tools that may be used while the skill is in force; without the line, any.
allowed-tools: [Read, Grep, Glob]
---
What to do, step by step. The user said: $ARGUMENTS

Name other files of this folder where they are needed, and they are read then: references/details.md
`
