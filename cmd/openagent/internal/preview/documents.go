package preview

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/skill"
	"github.com/openagent-go/agent/subagent"
)

// maxDocument bounds what is read of a file that a question about trust shows.
const maxDocument = 1 << 20

// riskyKeys are the members of front matter that say what an agent or a skill may do, the
// gravest first.
var riskyKeys = []string{"hooks", "mcpservers", "permissionmode", "tools", "allowedtools", "disallowedtools", "isolation", "background", "skills", "model", "context", "agent",
	"disablemodelinvocation", "userinvocable"}

// AgentDocuments shows the files of a folder of agents in full.
func AgentDocuments(h *cli.IO, found subagent.Found) string {
	var b strings.Builder
	for _, name := range found.Files {
		b.WriteString(document(h, name, filepath.Join(found.Dir, name)))
	}
	return b.String()
}

// SkillDocuments shows the skills of a folder in full.
func SkillDocuments(h *cli.IO, found skill.Found) string {
	var b strings.Builder
	for _, s := range found.Skills {
		b.WriteString(document(h, s.Name, s.File()))
		for _, file := range s.Files() {
			fmt.Fprintf(&b, "    beside it: %s\n", h.Visible(file))
		}
	}
	return b.String()
}

// document shows a file of instructions: first the front matter that says what may be
// done, then the whole file.
func document(h *cli.IO, name, path string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s\n", h.Visible(name))
	data, err := settings.ReadFile(path, maxDocument)
	if err != nil {
		fmt.Fprintf(&b, "    %s\n", h.Visible(err.Error()))
		return b.String()
	}
	rows := SplitLines(strings.ToValidUTF8(string(data), "\uFFFD"))
	for _, row := range riskyRows(rows) {
		fmt.Fprintf(&b, "    ! %s\n", h.Visible(row))
	}
	b.WriteString("    the whole file:\n")
	for _, l := range NumberLines(h, nil, rows) {
		fmt.Fprintf(&b, "  %s\n", l.Text)
	}
	return b.String()
}

// riskyRows returns the rows of the front matter that say what may be done.
func riskyRows(rows []string) []string {
	if len(rows) == 0 || strings.TrimRight(rows[0], " \t\r") != "---" {
		return nil
	}
	found := map[string][]string{}
	key := ""
	for _, row := range rows[1:] {
		if strings.TrimRight(row, " \t\r") == "---" {
			break
		}
		if name, _, ok := strings.Cut(row, ":"); ok && row[0] != ' ' && row[0] != '\t' && row[0] != '-' && row[0] != '#' {
			key = strings.ToLower(strings.NewReplacer("-", "", "_", "", `"`, "", "'", "", " ", "").Replace(name))
		}
		found[key] = append(found[key], row)
	}
	var out []string
	for _, key := range riskyKeys {
		out = slices.Concat(out, found[key])
	}
	return out
}
