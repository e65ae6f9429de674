package skills

import (
	"slices"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/skill"
)

// A skillEntry is a skill in the output of list and show.
type skillEntry struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	When        string   `json:"when_to_use,omitempty"`
	Aliases     []string `json:"aliases,omitempty"`
	Hint        string   `json:"argument_hint,omitempty"`
	Tools       []string `json:"allowed_tools,omitempty"`
	Model       string   `json:"model,omitempty"`
	Who         string   `json:"run_by"` // "both", "user", "model" or "nobody"
	From        string   `json:"from"`
	File        string   `json:"file,omitempty"`
	Files       []string `json:"files,omitempty"`
	Text        string   `json:"text,omitempty"` // the description for the model
}

func entryOf(all *skill.Registry, k *skill.Skill) skillEntry {
	e := skillEntry{Name: k.Name, Description: k.Description, When: k.When, Aliases: k.Aliases, Hint: k.Hint, Model: k.Model, From: k.From, File: k.File(), Who: "nobody"}
	for _, r := range k.Tools {
		e.Tools = append(e.Tools, string(r))
	}
	user, model := slices.Contains(all.UserInvocable(), k), slices.ContainsFunc(all.List(), func(i skillscope.Info) bool { return i.Name == k.Name })
	switch {
	case user && model:
		e.Who = "both"
	case user:
		e.Who = "user"
	case model:
		e.Who = "model"
	}
	return e
}

func listSkills(h *cli.IO, all *skill.Registry, format string) error {
	list := []skillEntry{}
	var rows [][]string
	for _, k := range all.All() {
		e := entryOf(all, k)
		list = append(list, e)
		rows = append(rows, []string{"/" + e.Name, e.Who, h.OneLine(e.From), h.OneLine(text.Runes(e.Description, 100))})
	}
	return h.WriteList(format, list, "SKILL RUN-BY FROM FOR", rows)
}
