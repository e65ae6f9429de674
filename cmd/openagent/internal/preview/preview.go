// Package preview shows calls, diffs and files to a person before a decision. It shows
// everything: it cuts nothing off and makes invisible characters visible.
package preview

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/tool"
)

// A Line is a line of a question, with its colour.
type Line struct{ Colour, Text string }

const (
	maxRisks    = 20      // that are listed one by one
	maxRiskText = 300     // characters of a part: the whole follows
	fullDiff    = 200_000 // bytes of a preview that shows everything
	shortLine   = 80      // bytes of a command that is seen at a glance
	emptyLines  = 3       // in a row are counted
)

// CallLines shows all of a call that a person is asked about: first what is risky, then
// every part of the input. Nothing is cut, and nothing in it is invisible.
func CallLines(h *cli.IO, whose string, call tool.Call, risks []rules.Risk, preview string) []Line {
	var members map[string]json.RawMessage
	if json.Unmarshal(call.Input, &members) != nil {
		members = map[string]json.RawMessage{"input": call.Input}
	}
	command, isCommand := textOf(members["command"])
	lines := riskLines(h, call, command, risks)
	head := "? " + h.Visible(whose+call.Name)
	if isCommand {
		delete(members, "command")
		if rows := SplitLines(command); len(rows) == 1 {
			head += " " + h.Visible(rows[0])
			lines = append(lines, Line{term.Yellow, head})
		} else {
			lines = append(lines, Line{term.Yellow, fmt.Sprintf("%s, a command of %d lines:", head, len(rows))})
			lines = NumberLines(h, lines, rows)
		}
	} else {
		lines = append(lines, Line{term.Yellow, head})
	}
	if preview != "" && len(preview) < fullDiff {
		for _, name := range []string{"content", "old_string", "new_string", "edits", "patch", "new_source", "plan"} {
			delete(members, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		lines = member(h, lines, name, members[name])
	}
	return append(lines, diffLines(h, preview)...)
}

// riskLines names the risky parts of a call, and what looks like something else.
func riskLines(h *cli.IO, call tool.Call, command string, risks []rules.Risk) []Line {
	var lines []Line
	say := func(format string, args ...any) {
		lines = append(lines, Line{term.Red, "! " + fmt.Sprintf(format, args...)})
	}
	if len(risks) == 1 && !risks[0].Grave && len(command) <= shortLine && !strings.Contains(command, "\n") {
		risks = nil // the line says it all
	}
	for i, r := range risks {
		if i == maxRisks {
			say("and %s more", cli.Plural(len(risks)-i, "part"))
			break
		}
		if r.Text == "" {
			say("%s", h.Visible(r.Why))
			continue
		}
		say("%s: %s", h.Visible(text.Runes(r.Text, maxRiskText)), h.Visible(r.Why))
	}
	var input any
	if json.Unmarshal(call.Input, &input) == nil {
		for _, s := range terminal.Lookalikes(textsIn(input)) {
			say("it is not what it looks like: %s", h.Visible(s))
		}
	}
	return lines
}

// textsIn is all texts of a value, a line each.
func textsIn(v any) string {
	switch v := v.(type) {
	case string:
		return v + "\n"
	case []any:
		var b strings.Builder
		for _, x := range v {
			b.WriteString(textsIn(x))
		}
		return b.String()
	case map[string]any:
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(name + "\n" + textsIn(v[name]))
		}
		return b.String()
	}
	return ""
}

// member shows one member of an input.
func member(h *cli.IO, lines []Line, name string, value json.RawMessage) []Line {
	text, ok := textOf(value)
	if !ok {
		text = string(value)
		var indented any
		if json.Unmarshal(value, &indented) == nil && len(value) > 80 {
			if data, err := json.MarshalIndent(indented, "", "  "); err == nil {
				text = string(data)
			}
		}
	}
	rows := SplitLines(text)
	if len(rows) == 1 {
		return append(lines, Line{term.Plain, "  " + h.Visible(name) + ": " + h.Visible(rows[0])})
	}
	lines = append(lines, Line{term.Plain, fmt.Sprintf("  %s, %d lines:", h.Visible(name), len(rows))})
	return NumberLines(h, lines, rows)
}

// NumberLines shows rows with their numbers.
func NumberLines(h *cli.IO, lines []Line, rows []string) []Line {
	width, empty := len(strconv.Itoa(len(rows))), 0
	for i, row := range rows {
		if row == "" {
			if empty++; i+1 < len(rows) && rows[i+1] == "" {
				continue
			}
			if empty > emptyLines {
				lines = append(lines, Line{term.Dim, fmt.Sprintf("  %*s | [%d empty lines]", width, "", empty)})
				empty = 0
				continue
			}
			for n := range empty {
				lines = append(lines, Line{term.Plain, fmt.Sprintf("  %*d |", width, i+2-empty+n)})
			}
			empty = 0
			continue
		}
		lines = append(lines, Line{term.Plain, fmt.Sprintf("  %*d | %s", width, i+1, h.Visible(row))})
	}
	return lines
}

// diffLines shows a diff, or another preview, in its colours.
func diffLines(h *cli.IO, diff string) []Line {
	var lines []Line
	for row := range strings.Lines(diff) {
		colour := term.Dim
		switch {
		case strings.HasPrefix(row, "+"):
			colour = term.Green
		case strings.HasPrefix(row, "-"):
			colour = term.Red
		}
		lines = append(lines, Line{colour, "  " + h.Visible(strings.TrimSuffix(row, "\n"))})
	}
	return lines
}

// SplitLines splits a text into its lines. One line end at its end does not count.
func SplitLines(s string) []string { return strings.Split(strings.TrimSuffix(s, "\n"), "\n") }

func textOf(value json.RawMessage) (string, bool) {
	var s string
	err := json.Unmarshal(value, &s)
	return s, err == nil && len(value) > 0 && value[0] == '"'
}

// PlainText are the lines of a question where nothing is coloured.
func PlainText(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text + "\n")
	}
	return b.String()
}
