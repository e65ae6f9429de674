package sim

import (
	"slices"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/skill"
	"github.com/openagent-go/agent/tools"
)

// simSkills are the skills of agents: two that keep work to some tools, one for any, one with
// another model.
func simSkills() *skill.Registry {
	return skill.New(
		&skill.Skill{Name: "reader", Description: "Looks.", Tools: []permission.Rule{"look", "hanglook", "large"}, Instructions: "Look."},
		&skill.Skill{Name: "writer", Description: "Acts.", Tools: []permission.Rule{"put", "act"}, Instructions: "Act."},
		&skill.Skill{Name: "open", Description: "Does anything.", Instructions: "Work."},
		&skill.Skill{Name: "thinker", Description: "Thinks.", Model: "second", Instructions: "Think."})
}

func skills(_ *world, _ *life, a *agent.Agent) {
	a.Tools = append(a.Tools, tools.Skill(simSkills()))
}

// skillInput returns the input of a call of the tool for skills. The target names the skill.
func skillInput(target string) any {
	if target == "end" {
		return map[string]any{"end": true}
	}
	return map[string]any{"skill": target}
}

func skillCall(g *gen, _ int) Call {
	return Call{Tool: "Skill", Target: pick(g, "reader", "reader", "writer", "open", "thinker", "end")}
}

// foldSkills takes in where skills begin and end: with a call, a message of the user, or the run.
func (j *journal) foldSkills(e event.Event) {
	switch d := e.Data.(type) {
	case event.ToolResult:
		if n := len(j.skills); d.Result.Patch.End && n > 0 {
			j.skills = j.skills[: n-1 : n-1]
		}
		if b := d.Result.Patch.Begin; b != nil {
			j.skills = append(slices.Clip(j.skills), *b)
			j.ofSkills[b.Model] = true
		}
	case event.ToolStart:
		if _, again := j.within[d.Call]; !again {
			j.within[d.Call] = j.skills
		}
	case event.UserMessage:
		j.skills = nil
		if d.Delivery == fact.AsPrompt { // the report of an agent ends no skill
			clear(j.ofSkills)
		}
	case fact.Delivered:
		j.skills = nil
	case event.RunEnd:
		if d.Reason != event.Suspended {
			j.skills = nil
			clear(j.ofSkills)
		}
	}
}

// checkSkill checks that a call that runs is one that the skill in force permits: the innermost
// that lists tools. A call that is made again after a crash was started before what came since.
func (w *world) checkSkill(r ran) {
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	for p, j := range w.facts.of {
		if !w.isJournal(p, r) {
			continue
		}
		if len(j.skills) > 0 {
			w.meet("skill")
		}
		skills, started := j.within[r.call]
		if !started {
			skills = j.skills
		}
		for _, sc := range slices.Backward(skills) {
			if len(sc.Tools) == 0 {
				continue
			}
			if !slices.Contains(sc.Tools, permission.Rule(r.tool.Name)) {
				w.wrong("permission", "%s of %s/%s ran in the skill %s, which has only %q", r.tool.Name, r.session, r.call, sc.Skill, sc.Tools)
			}
			break
		}
	}
}
