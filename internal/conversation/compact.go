package conversation

import (
	"slices"

	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/summary"
	"github.com/openagent-go/agent/llm"
)

// shorten prepares a compaction: its plan and the request for the summary.
func (c *Conversation) shorten(e engine.Compact) *executor.Summary {
	t := &c.Transcript
	s := &executor.Summary{SummaryPlan: t.Shorten(e), Notes: c.notes()}
	// Providers have the conversation in their caches only if this request equals the
	// requests for answers. That includes the choice of tools and the thinking.
	r := c.request(engine.CallModel{MaxTokens: e.MaxTokens})
	r.Messages = append(slices.Clip(s.Request), llm.UserText(summary.Prompt(e, s.Memory)))
	r.Thinking, r.Format, r.Stop, r.Temperature, r.Memo = e.Thinking, nil, nil, nil, nil
	if (e.Less > 0 || r.ToolChoice.Mode != "") && len(r.Tools) > 0 {
		r.ToolChoice = llm.ToolChoice{Mode: llm.ChooseNone}
	}
	s.Ask = r
	return s
}

// notes returns facts for the summary that messages may not show: the list of steps, files
// and skills.
func (c *Conversation) notes() string {
	var skills []engine.ActiveSkill
	told := c.Transcript.Skills()
	for _, sc := range c.State.Scopes() {
		skill := engine.ActiveSkill{Name: sc.Skill}
		for _, b := range told {
			if b.Name == sc.Skill {
				skill.Text = b.Text
			}
		}
		skills = append(skills, skill)
	}
	return summary.Notes(c.Transcript.Slot("todos"), c.Transcript.Slot("files"), skills)
}
