package acp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
)

// kinds are the kinds of the built-in tools. Others are "other".
var kinds = map[string]string{
	"Read": "read", "NotebookRead": "read",
	"Write": "edit", "Edit": "edit", "MultiEdit": "edit", "ApplyPatch": "edit", "NotebookEdit": "edit",
	"Glob": "search", "Grep": "search", "CodeSearch": "search", "ToolSearch": "search", "LSP": "search",
	"Bash": "execute", "BashOutput": "execute", "KillShell": "execute",
	"WebFetch": "fetch", "WebSearch": "fetch",
	"Agent": "think", "TodoWrite": "think", "Skill": "think",
	"EnterPlanMode": "switch_mode", "ExitPlanMode": "switch_mode",
}

func kindOf(tool string) string { return cmp.Or(kinds[tool], "other") }

// An input has the members of inputs that are shown to people.
type input struct {
	Command      string `json:"command"`
	FilePath     string `json:"file_path"`
	NotebookPath string `json:"notebook_path"`
	Path         string `json:"path"`
	Pattern      string `json:"pattern"`
	Query        string `json:"query"`
	URL          string `json:"url"`
	Description  string `json:"description"`
	Type         string `json:"subagent_type"`
	Skill        string `json:"skill"`
	Plan         string `json:"plan"`
	Content      string `json:"content"`
	Offset       int    `json:"offset"`
	Limit        int    `json:"limit"`
}

// inputOf reads what it can: a model may write a member of another type.
func inputOf(raw json.RawMessage) (in input) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return in
	}
	for name, to := range map[string]any{"command": &in.Command, "file_path": &in.FilePath, "notebook_path": &in.NotebookPath, "path": &in.Path,
		"pattern": &in.Pattern, "query": &in.Query, "url": &in.URL, "description": &in.Description, "subagent_type": &in.Type, "skill": &in.Skill,
		"plan": &in.Plan, "content": &in.Content, "offset": &in.Offset, "limit": &in.Limit} {
		if value, ok := members[name]; ok {
			_ = json.Unmarshal(value, to) // then it is not shown
		}
	}
	return in
}

// Title describes a call in a line. A command is shown as it is, whole and with invisible
// characters escaped, because people decide by the title. dir is the working folder.
func Title(tool string, raw json.RawMessage, dir string) string {
	in := inputOf(raw)
	file := shortPath(cmp.Or(in.FilePath, in.NotebookPath), dir)
	switch tool {
	case "Bash":
		if in.Command != "" {
			return visible(in.Command)
		}
	case "Read":
		if file != "" && (in.Offset > 0 || in.Limit > 0) {
			first := max(in.Offset, 1)
			if in.Limit > 0 {
				return fmt.Sprintf("Read %s (%d–%d)", file, first, first+in.Limit-1)
			}
			return fmt.Sprintf("Read %s (from %d)", file, first)
		}
	case "Agent":
		if in.Description != "" {
			return visible(cmp.Or(in.Type, "Agent") + ": " + text.OneLine(in.Description))
		}
	case "TodoWrite":
		return "Update the plan"
	case "EnterPlanMode":
		return "Enter plan mode"
	case "ExitPlanMode":
		return "Carry out this plan?"
	}
	about := cmp.Or(file, in.Pattern, in.Query, in.URL, in.Skill, shortPath(in.Path, dir))
	if in.Pattern != "" && in.Path != "" {
		about = in.Pattern + " in " + shortPath(in.Path, dir)
	}
	return visible(strings.TrimSpace(tool + " " + text.OneLine(about)))
}

// visible escapes invisible characters and keeps line ends.
func visible(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = terminal.Visible(strings.TrimSuffix(line, "\r"))
	}
	return strings.Join(lines, "\n")
}

// shortPath returns a path relative to the working folder if it is in it.
func shortPath(path, dir string) string {
	if path == "" || dir == "" || !filepath.IsAbs(path) {
		return path
	}
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// locations are the places that a call names.
func locations(tool string, raw json.RawMessage, dir string) []Location {
	in := inputOf(raw)
	path := cmp.Or(in.FilePath, in.NotebookPath)
	if path == "" && !strings.HasPrefix(tool, "mcp__") {
		path = in.Path
	}
	if path == "" {
		return nil
	}
	if !filepath.IsAbs(path) && dir != "" {
		path = filepath.Join(dir, path)
	}
	l := Location{Path: path}
	if tool == "Read" {
		l.Line = max(in.Offset, 0)
	}
	return []Location{l}
}

// textContent is a text as content of a call.
func textContent(s string) ToolContent {
	return ToolContent{Type: "content", Content: &Block{Type: "text", Text: s}}
}

// fenced are the tools whose results are not Markdown.
var fenced = []string{"Read", "NotebookRead", "Glob", "Grep", "CodeSearch", "LSP", "Bash", "BashOutput"}

// fence quotes a text, so that a client does not read it as Markdown.
func fence(tool, s string) string {
	if s == "" || !slices.Contains(fenced, tool) {
		return s
	}
	marks := "```"
	for strings.Contains(s, marks) {
		marks += "`"
	}
	return marks + "\n" + strings.TrimSuffix(s, "\n") + "\n" + marks
}

// Diffs returns the hunks of a unified diff as content of a call.
func Diffs(unified string) []ToolContent {
	var out []ToolContent
	var path string
	var created, inHunk bool
	var old, new strings.Builder
	flush := func() {
		if !inHunk {
			return
		}
		inHunk = false
		after, before := new.String(), old.String()
		c := ToolContent{Type: "diff", Path: path, NewText: &after, OldText: &before}
		if created {
			c.OldText = nil
		}
		out = append(out, c)
		old.Reset()
		new.Reset()
	}
	lines := strings.SplitAfter(unified, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "--- ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ ") && (!inHunk || i+2 < len(lines) && strings.HasPrefix(lines[i+2], "@@ ")):
			flush()
			from, to := strings.TrimSpace(line[4:]), strings.TrimSpace(lines[i+1][4:])
			created = from == "/dev/null"
			if path = to; to == "/dev/null" {
				path = from
			}
			i++
		case strings.HasPrefix(line, "@@ ") && path != "":
			flush()
			inHunk = true
		case !inHunk || line == "":
		case line[0] == '+':
			new.WriteString(line[1:])
		case line[0] == '-':
			old.WriteString(line[1:])
		case line[0] == ' ':
			old.WriteString(line[1:])
			new.WriteString(line[1:])
		case line[0] == '\\' && i > 0: // no line end at the end of the file
			cut := func(b *strings.Builder) {
				s := strings.TrimSuffix(b.String(), "\n")
				b.Reset()
				b.WriteString(s)
			}
			if lines[i-1][0] != '+' {
				cut(&old)
			}
			if lines[i-1][0] != '-' {
				cut(&new)
			}
		}
	}
	flush()
	return out
}
