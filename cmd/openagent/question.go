package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A questionLine is a line of a question, with its colour.
type questionLine struct{ colour, text string }

const (
	maxRisks    = 20      // that are listed one by one
	maxRiskText = 300     // characters of a part: the whole follows
	fullDiff    = 200_000 // bytes of a preview that shows everything
	shortLine   = 80      // bytes of a command that is seen at a glance
	emptyLines  = 3       // in a row are counted
)

// aboutCall shows all of a call that a person is asked about: first what is risky, then
// every part of the input. Nothing is cut, and nothing in it is invisible.
func (h *host) aboutCall(whose string, call tool.Call, risks []permission.Risk, preview string) []questionLine {
	var members map[string]json.RawMessage
	if json.Unmarshal(call.Input, &members) != nil {
		members = map[string]json.RawMessage{"input": call.Input}
	}
	command, isCommand := textOf(members["command"])
	lines := h.riskLines(call, command, risks)
	head := "? " + h.visible(whose+call.Name)
	if isCommand {
		delete(members, "command")
		if rows := textRows(command); len(rows) == 1 {
			head += " " + h.visible(rows[0])
			lines = append(lines, questionLine{inYellow, head})
		} else {
			lines = append(lines, questionLine{inYellow, fmt.Sprintf("%s, a command of %d lines:", head, len(rows))})
			lines = h.gutter(lines, rows)
		}
	} else {
		lines = append(lines, questionLine{inYellow, head})
	}
	if preview != "" && len(preview) < fullDiff {
		for _, name := range []string{"content", "old_string", "new_string", "edits", "patch", "new_source", "plan"} {
			delete(members, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		lines = h.member(lines, name, members[name])
	}
	return append(lines, h.diffLines(preview)...)
}

// riskLines names the risky parts of a call, and what looks like something else.
func (h *host) riskLines(call tool.Call, command string, risks []permission.Risk) []questionLine {
	var lines []questionLine
	say := func(format string, args ...any) {
		lines = append(lines, questionLine{inRed, "! " + fmt.Sprintf(format, args...)})
	}
	if len(risks) == 1 && !risks[0].Grave && len(command) <= shortLine && !strings.Contains(command, "\n") {
		risks = nil // the line says it all
	}
	for i, r := range risks {
		if i == maxRisks {
			say("and %s more", plural(len(risks)-i, "part"))
			break
		}
		if r.Text == "" {
			say("%s", h.visible(r.Why))
			continue
		}
		say("%s: %s", h.visible(short(r.Text, maxRiskText)), h.visible(r.Why))
	}
	var input any
	if json.Unmarshal(call.Input, &input) == nil {
		for _, s := range terminal.Lookalikes(textsIn(input)) {
			say("it is not what it looks like: %s", h.visible(s))
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
func (h *host) member(lines []questionLine, name string, value json.RawMessage) []questionLine {
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
	rows := textRows(text)
	if len(rows) == 1 {
		return append(lines, questionLine{inPlain, "  " + h.visible(name) + ": " + h.visible(rows[0])})
	}
	lines = append(lines, questionLine{inPlain, fmt.Sprintf("  %s, %d lines:", h.visible(name), len(rows))})
	return h.gutter(lines, rows)
}

// gutter shows rows with their numbers.
func (h *host) gutter(lines []questionLine, rows []string) []questionLine {
	width, empty := len(strconv.Itoa(len(rows))), 0
	for i, row := range rows {
		if row == "" {
			if empty++; i+1 < len(rows) && rows[i+1] == "" {
				continue
			}
			if empty > emptyLines {
				lines = append(lines, questionLine{inDim, fmt.Sprintf("  %*s | [%d empty lines]", width, "", empty)})
				empty = 0
				continue
			}
			for n := range empty {
				lines = append(lines, questionLine{inPlain, fmt.Sprintf("  %*d |", width, i+2-empty+n)})
			}
			empty = 0
			continue
		}
		lines = append(lines, questionLine{inPlain, fmt.Sprintf("  %*d | %s", width, i+1, h.visible(row))})
	}
	return lines
}

// diffLines shows a diff, or another preview, in its colours.
func (h *host) diffLines(diff string) []questionLine {
	var lines []questionLine
	for row := range strings.Lines(diff) {
		colour := inDim
		switch {
		case strings.HasPrefix(row, "+"):
			colour = inGreen
		case strings.HasPrefix(row, "-"):
			colour = inRed
		}
		lines = append(lines, questionLine{colour, "  " + h.visible(strings.TrimSuffix(row, "\n"))})
	}
	return lines
}

// textRows splits a text into its lines. One line end at its end does not count.
func textRows(s string) []string { return strings.Split(strings.TrimSuffix(s, "\n"), "\n") }

func textOf(value json.RawMessage) (string, bool) {
	var s string
	err := json.Unmarshal(value, &s)
	return s, err == nil && len(value) > 0 && value[0] == '"'
}

// visible is text of any origin as a part of a question: without secrets, and with
// escapes for what cannot be seen. Tabs at the begin of code stay.
func (h *host) visible(s string) string {
	s = wire.Mask(s, h.secrets)
	indent := len(s) - len(strings.TrimLeft(s, "\t"))
	return s[:indent] + terminal.Visible(s[indent:])
}

// question writes the lines of a question.
func (s *screen) question(lines []questionLine) {
	for _, l := range lines {
		s.line(l.colour, "%s", l.text)
	}
}

// plainLines are the lines of a question where nothing is coloured.
func plainLines(lines []questionLine) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text + "\n")
	}
	return b.String()
}
