// Package summary writes the request for a summary of a conversation, and reads the
// answer.
package summary

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/text"
)

// basicPrompt asks for a summary.
//
//go:embed compact.md
var basicPrompt string

const (
	maxMemory      = 4000 * 3 // bytes of all that is remembered
	maxMemoryItem  = 500      // bytes
	maxNotedFiles  = 60
	maxNotedSteps  = 60
	maxNotedSkills = 24 << 10 // bytes
)

// Prompt is the request for the summary of a compaction. memory holds the findings of
// earlier ones.
func Prompt(e engine.Compact, memory []string) string {
	var ask strings.Builder
	ask.WriteString(strings.TrimSpace(basicPrompt))
	if len(memory) > 0 {
		ask.WriteString("\n\nOn the list of memory already:")
		for _, m := range memory {
			ask.WriteString("\n- " + m)
		}
	}
	if e.Instructions != "" {
		ask.WriteString("\n\nThe user says of this summary: " + e.Instructions)
	}
	if e.Wishes != "" {
		ask.WriteString("\n\nA hook says of this summary: " + e.Wishes)
	}
	if e.Again {
		fmt.Fprintf(&ask, "\n\nThe last try was too long and was cut off. Write at most %d words in all, and come to the end: what is to be done next matters more than how it came to this.", e.MaxTokens/2)
	}
	return ask.String()
}

// Notes describe the state outside of the conversation: the list of steps, the names of
// files, the skills in force. todos and touched are state slots of tools. A skill without a
// text is named alone.
func Notes(todos, touched map[string]json.RawMessage, skills []engine.ActiveSkill) string {
	var parts []string
	if steps := stepsOf(todos); steps != "" {
		parts = append(parts, "The list of steps, as it is now:\n"+steps)
	}
	if files := slices.Sorted(maps.Keys(touched)); len(files) > 0 {
		more := ""
		if n := len(files) - maxNotedFiles; n > 0 {
			files, more = files[:maxNotedFiles], fmt.Sprintf("\n- and %d more", n)
		}
		parts = append(parts, "Files that were read or changed in this session; read again what you need of them:\n- "+strings.Join(files, "\n- ")+more)
	}
	for _, sc := range skills {
		if sc.Text != "" && len(sc.Text) <= maxNotedSkills {
			parts = append(parts, fmt.Sprintf("The skill %s is in force:\n<skill>\n%s\n</skill>", sc.Name, sc.Text))
		} else {
			parts = append(parts, fmt.Sprintf("The skill %s is in force.", sc.Name))
		}
	}
	return strings.Join(parts, "\n\n")
}

// stepsOf lists the steps in a tool's slot.
func stepsOf(slot map[string]json.RawMessage) string {
	var steps []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	}
	if json.Unmarshal(slot["todos"], &steps) != nil {
		return ""
	}
	var lines []string
	for i, step := range steps {
		if i == maxNotedSteps {
			lines = append(lines, fmt.Sprintf("- and %d more", len(steps)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("- [%s] %s", step.Status, unmarked(text.OneLine(step.Content))))
	}
	return strings.Join(lines, "\n")
}

// Parse splits a model's answer. An answer without marks is all summary. It is whole if the
// end of the summary is marked.
func Parse(answer string) (summary string, memory []string, whole bool) {
	rest, list, ended := cutPart(answer, "memory")
	if before, after, ok := strings.Cut(list, "<summary>"); ok && !ended {
		rest, list, ended = rest+"<summary>"+after, before, true
	}
	lines := strings.Split(list, "\n")
	if !ended { // of the last one only a part may be there, which may say the opposite
		lines = lines[:len(lines)-1]
	}
	for _, line := range lines {
		line = unmarked(strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "-*• ")))
		if line == "" || strings.EqualFold(line, "none") || strings.EqualFold(line, "(none)") {
			continue
		}
		memory = append(memory, text.Bytes(line, maxMemoryItem))
	}
	rest, inner, whole := cutPart(rest, "summary")
	if inner == "" {
		inner = rest
	}
	return unmarked(strings.TrimSpace(inner)), memory, whole
}

// cutPart returns the text between the marks of a name, and the rest. The end mark may be
// missing.
func cutPart(text, name string) (rest, part string, ended bool) {
	before, after, ok := strings.Cut(text, "<"+name+">")
	if !ok {
		return text, "", false
	}
	part, after, ended = strings.Cut(after, "</"+name+">")
	return before + after, strings.TrimSpace(part), ended
}

// marks are the marks around the parts of a summary.
var marks = strings.NewReplacer("<summary>", "‹summary>", "</summary>", "‹/summary>", "<memory>", "‹memory>", "</memory>", "‹/memory>")

// unmarked returns a text without marks, for between some.
func unmarked(text string) string { return marks.Replace(text) }

// Remember adds new findings to the old ones. The oldest is forgotten first.
func Remember(old, more []string) []string {
	all := slices.Clone(old)
	for _, m := range more {
		if !slices.ContainsFunc(all, func(a string) bool { return strings.EqualFold(a, m) }) {
			all = append(all, m)
		}
	}
	size := 0
	for _, m := range all {
		size += len(m) + 3
	}
	for len(all) > 0 && size > maxMemory {
		size -= len(all[0]) + 3
		all = all[1:]
	}
	return all
}
