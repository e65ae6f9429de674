package memory

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
)

//go:embed review_skills.md
var skillsText string

const maxSkillProposals = 4

// SkillReview takes part in reviews: it tells what skills there are, and keeps what a review proposes
// about them until a person decides. Package learn, below package skill, has one.
type SkillReview interface {
	// KnownSkills describes the skills to a review. used are the names of those that the session used.
	KnownSkills(used []string) string
	// ProposeSkill keeps a proposal, and returns its id. Its error says why the proposal is refused.
	ProposeSkill(ctx context.Context, session string, p SkillProposal) (id string, err error)
}

// A SkillProposal is what a review proposes about a skill.
type SkillProposal struct {
	Action      string      `json:"action"`                // new or change
	Name        string      `json:"name"`                  // of the skill
	Description string      `json:"description,omitempty"` // of a new skill: what it is for, and when
	Text        string      `json:"text,omitempty"`        // instructions of a new skill
	Edits       []SkillEdit `json:"edits,omitempty"`       // of the instructions of one that exists
	Facts       []int64     `json:"facts,omitempty"`       // numbers of the facts that show why
	Why         string      `json:"why,omitempty"`         // for people
	ID          string      `json:"id,omitempty"`          // of the proposal that waits for a person
	// Refused says why nothing waits. "": something does.
	Refused string `json:"refused,omitempty"`
}

// A SkillEdit replaces a text that is in the instructions once.
type SkillEdit struct {
	Old string `json:"old"` // the text
	New string `json:"new"` // what takes its place
}

// skillsSchema is the member of a review's answer about skills.
const skillsSchema = `"skills": {"type": "array", "items": {
			"type": "object",
			"properties": {
				"action": {"type": "string", "enum": ["new", "change"]},
				"name": {"type": "string"},
				"description": {"type": "string"},
				"text": {"type": "string"},
				"edits": {"type": "array", "items": {"type": "object", "properties": {"old": {"type": "string"}, "new": {"type": "string"}}, "required": ["old", "new"], "additionalProperties": false}},
				"facts": {"type": "array", "items": {"type": "integer"}},
				"why": {"type": "string"}
			},
			"required": ["action", "name", "facts", "why"],
			"additionalProperties": false
		}}`

// proposeSkills hands proposals on. They wait for a person in any case.
func (r *Reviewer) proposeSkills(ctx context.Context, record *record, list []SkillProposal) {
	for i := range list {
		p := &list[i]
		p.ID, p.Refused = "", ""
		err := errors.New("it names no facts of the session")
		if len(p.Facts) > 0 {
			err = nil
		}
		for _, n := range p.Facts {
			if record.lines[n] == nil {
				err = fmt.Errorf("there is no fact %d in the record", n)
			}
		}
		slices.Sort(p.Facts)
		if err == nil {
			p.ID, err = r.Skills.ProposeSkill(ctx, record.id, *p)
		}
		if err != nil {
			p.Refused = err.Error()
		}
	}
}
