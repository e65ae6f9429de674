package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

//go:embed skill.md
var skillText string

const (
	maxSkillArgs = 10_000  // bytes
	maxSkill     = 200_000 // bytes of instructions with the arguments in them
)

// argumentsMark in the instructions of a skill stands for the arguments.
const argumentsMark = "$ARGUMENTS"

// SkillInfo is a skill as the tool Skill shows it.
type SkillInfo struct {
	Name         string
	Description  string
	Instructions string   // for the model; $ARGUMENTS stands for what args is
	Dir          string   // where its files are, absolute; "" where it has none
	AllowedTools []string // to which the work is restricted; nil: all
	Model        string   // that it wants; "": any
}

// Skills are the skills that a model may load.
type Skills interface {
	List() []SkillInfo
	// Find returns the skill of a name or alias, whatever its case.
	Find(name string) (SkillInfo, bool)
}

type skillInput struct {
	Skill string `json:"skill" jsonschema:"its name"`
	Args  string `json:"args,omitempty"`
}

// Skill returns the tool that loads skills. Rules for it name skills, as
// Skill(commit), by their own name whatever alias is used.
func Skill(skills Skills) tool.Tool {
	return tool.New(tool.Spec{
		Name: "Skill", Title: "Load a skill", Description: skillText, ReadOnly: true,
	}, func(_ context.Context, _ tool.Call, in skillInput) (*tool.Result, error) {
		s, ok := skills.Find(skillName(in.Skill))
		if !ok {
			var names []string
			for _, s := range skills.List() {
				names = append(names, s.Name)
			}
			return tool.Errorf("%s", unknownName("skill", in.Skill, names)), nil
		}
		return loadSkill(s, in.Args), nil
	}).OnClassify(func(_ tool.Call, in skillInput) tool.Class {
		name := skillName(in.Skill)
		if s, ok := skills.Find(name); ok {
			name = s.Name
		}
		return tool.Class{ReadOnly: true, Internal: true, Access: []permission.Access{{Kind: permission.UseName, Target: name}}}
	})
}

// skillName accepts a name as people type it, with a slash.
func skillName(s string) string { return strings.TrimPrefix(strings.TrimSpace(s), "/") }

func loadSkill(s SkillInfo, args string) *tool.Result {
	args = strings.TrimSpace(args)
	if len(args) > maxSkillArgs {
		return tool.Errorf("args has %d bytes, at most %d are filled in; say the rest in your own words after loading the skill", len(args), maxSkillArgs)
	}
	marks := strings.Count(s.Instructions, argumentsMark)
	if n := len(s.Instructions) + marks*len(args); n > maxSkill {
		return tool.Errorf("the instructions of the skill %s have %d bytes, more than the %d that can be loaded", s.Name, n, maxSkill)
	}
	text := strings.TrimSpace(strings.ReplaceAll(s.Instructions, argumentsMark, args))
	if text == "" {
		return tool.Errorf("the skill %s has no instructions", s.Name)
	}
	if marks == 0 && args != "" {
		text += "\n\nThe user's request: " + args
	}
	if s.Dir != "" {
		text += "\n\nFiles of this skill are in " + s.Dir
	}
	r := tool.Text(text)
	r.Title = fmt.Sprintf("Skill %s", s.Name)
	r.Details = details(map[string]any{"skill": s.Name, "allowedTools": s.AllowedTools, "model": s.Model, "dir": s.Dir})
	return r
}
