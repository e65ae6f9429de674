package tools

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

//go:embed skill.md
var skillText string

const (
	maxSkillList   = 1600 // bytes of the list of skills in the tool's description
	maxSkillDepth  = 4    // skills within each other
	maxSkillsFound = 20
)

// Skills are the skills that a model may run. A [skill.Registry] has them.
type Skills = toolapi.Skills

type skillInput struct {
	Skill string `json:"skill,omitempty" jsonschema:"its name"`
	Args  string `json:"args,omitempty" jsonschema:"what the user said beside its name"`
	Query string `json:"query,omitempty" jsonschema:"instead of skill: words to search names and descriptions for; \"\" with no skill lists all names"`
	End   bool   `json:"end,omitempty" jsonschema:"instead of skill: the work of the skill in force is done"`
}

// Skill returns the tool that runs skills. Its description lists them, within 2 KB. Rules
// for it name skills, as Skill(commit), by their own name, not an alias. While a skill that
// is limited to certain tools is in force, another one with more tools needs permission. Up
// to four skills may be nested.
func Skill(skills Skills) tool.Tool {
	return tool.New(tool.Spec{
		Name: "Skill", Title: "Run a skill", Description: skillText + skillList(skills.List()), ReadOnly: true, NonDestructive: true, Barrier: true,
	}, func(_ context.Context, call tool.Call, in skillInput) (*tool.Result, error) {
		switch {
		case in.End:
			return endSkill(call), nil
		case skillName(in.Skill) == "":
			return findSkills(skills.List(), in.Query), nil
		}
		return runSkill(skills, call, in), nil
	}).OnClassify(func(call tool.Call, in skillInput) tool.Traits {
		c := tool.Traits{ReadOnly: true, Internal: true, IgnoresSkillLimits: true}
		name := skillName(in.Skill)
		if in.End || name == "" {
			return c
		}
		info, ok := skills.Find(name)
		if ok {
			name = info.Name
		}
		c.Access = []permission.Access{{Kind: permission.UseName, Target: name}}
		bound := skillBound(call.Scopes)
		switch {
		case bound == nil || !ok:
		case slices.ContainsFunc(bound.Only, func(r permission.Rule) bool { return strings.EqualFold(policies.ToolOf(r), "Skill") }):
			c.IgnoresSkillLimits = false // the list says which
		case !policies.Covers(bound, info.Tools):
			c.ReadOnly, c.Internal = false, false
		}
		return c
	})
}

// skillBound returns the tools that the skills in force allow, nil for all.
func skillBound(scopes []skillscope.Scope) *permission.Restriction {
	for _, sc := range slices.Backward(scopes) {
		if len(sc.Tools) > 0 {
			return &permission.Restriction{Only: sc.Tools}
		}
	}
	return nil
}

// skillName accepts a name as people type it, with a slash.
func skillName(s string) string { return strings.TrimPrefix(strings.TrimSpace(s), "/") }

func runSkill(skills Skills, call tool.Call, in skillInput) *tool.Result {
	name := skillName(in.Skill)
	info, ok := skills.Find(name)
	switch {
	case !ok:
		return tool.Errorf("%v; {\"query\": \"words\"} searches", skills.Unknown(name))
	case info.Manual:
		return tool.Errorf("the skill %s is not for you to run: the user runs it by typing /%s, or it is not available here", info.Name, info.Name)
	case len(call.Scopes) >= maxSkillDepth:
		return tool.Errorf("%d skills are in force, one within another, which is the most; end one with {\"end\": true} when its work is done", len(call.Scopes))
	}
	x, err := skills.Expand(info.Name, in.Args)
	if err != nil {
		return tool.Errorf("%v", err)
	}
	r := tool.Text(x.Text + "\n\nWhen the work of this skill is done, call Skill with {\"end\": true}.")
	r.Title = fmt.Sprintf("Skill %s", info.Name)
	r.Patch.Begin = x.Scope
	d := map[string]any{"skill": info.Name}
	if sc := x.Scope; sc != nil && len(sc.Tools) > 0 {
		d["allowedTools"] = sc.Tools
	}
	if sc := x.Scope; sc != nil && sc.Model != "" {
		d["model"] = sc.Model
	}
	r.Details = toolapi.Details(d)
	return r
}

func endSkill(call tool.Call) *tool.Result {
	n := len(call.Scopes)
	if n == 0 {
		return tool.Errorf("no skill is in force")
	}
	sc := call.Scopes[n-1]
	if sc.ByUser {
		return tool.Errorf("the user runs the skill %s: it is in force until you are done with what they asked for", sc.Skill)
	}
	text := fmt.Sprintf("The skill %s is over.", sc.Skill)
	if n > 1 {
		text += fmt.Sprintf(" The skill %s is in force again.", call.Scopes[n-2].Skill)
	}
	r := tool.Text(text)
	r.Title, r.Patch.End = fmt.Sprintf("End of skill %s", sc.Skill), true
	return r
}

// findSkills searches names and descriptions for words; without any it lists names.
func findSkills(list []skillscope.Info, query string) *tool.Result {
	words := strings.Fields(strings.ToLower(query))
	if len(words) == 0 {
		var names []string
		for _, s := range list {
			names = append(names, s.Name)
		}
		if names == nil {
			return tool.Errorf("there are no skills here")
		}
		return tool.Text(strings.Join(names, "\n"))
	}
	type hit struct {
		info  skillscope.Info
		score int
	}
	var hits []hit
	for _, s := range list {
		name, text := strings.ToLower(s.Name), strings.ToLower(s.Description+" "+s.When)
		score := 0
		for _, w := range words {
			if strings.Contains(name, w) {
				score += 3
			}
			if strings.Contains(text, w) {
				score++
			}
		}
		if score > 0 {
			hits = append(hits, hit{s, score})
		}
	}
	if hits == nil {
		return tool.Errorf("no skill is about %q; {\"query\": \"\"} lists all names", text.Runes(query, 80))
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	var b strings.Builder
	for i, h := range hits {
		if i == maxSkillsFound {
			fmt.Fprintf(&b, "and %d more", len(hits)-i)
			break
		}
		b.WriteString(skillLine(h.info, 400) + "\n")
	}
	return tool.Text(strings.TrimSpace(b.String()))
}

// skillList lists skills for the tool's description: with their descriptions while there is
// room, then with a few words, then by name. Skills that do not fit are found by query.
func skillList(list []skillscope.Info) string {
	if len(list) == 0 {
		return "\n\nThere are no skills at the moment."
	}
	const head = "\n\nSkills:\n"
	for _, most := range []int{600, 300, 150, 80} {
		var b strings.Builder
		for _, s := range list {
			b.WriteString(skillLine(s, most) + "\n")
		}
		if b.Len() <= maxSkillList {
			return head + strings.TrimSuffix(b.String(), "\n")
		}
	}
	var b strings.Builder
	for i, s := range list {
		if more := fmt.Sprintf("; and %d more, found by {\"query\": \"words\"}", len(list)-i); i > 0 && b.Len()+2+len(s.Name)+len(more) > maxSkillList {
			b.WriteString(more)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(s.Name)
	}
	return head + b.String() + "\nWhat they are for: {\"query\": \"words\"}."
}

// skillLine is a skill in a line of at most so many characters, its name always.
func skillLine(s skillscope.Info, most int) string {
	about := s.Description
	if s.When != "" {
		about += " (when " + strings.TrimPrefix(strings.TrimPrefix(s.When, "when "), "When ") + ")"
	}
	if about == "" {
		return "- " + s.Name
	}
	return "- " + s.Name + ": " + text.Runes(about, max(most-len(s.Name)-4, 10))
}
