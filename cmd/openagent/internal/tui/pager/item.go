package pager

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/difftext"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/mdview"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/markdown"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session/view"
)

const (
	maxDepth  = 6  // agents of agents that are shown
	headLines = 8  // of a long output that is folded
	tailLines = 12 // likewise
)

// A line is a row, or a line of output that becomes one when it is shown.
type line struct {
	row  styled.Row
	raw  string
	kind styled.Kind
	pad  int // blanks before it
	code int // blocks of code of the item above it
}

// maxLine is how much of a line of output is shown, in bytes. A copy has all of it.
const maxLine = 64 << 10

func (l line) styled() styled.Row {
	if l.row == nil && l.raw != "" {
		return styled.Join(styled.Row{{Text: strings.Repeat(" ", l.pad)}}, styled.Verbatim(l.kind, text.Bytes(l.raw, maxLine)))
	}
	return l.row
}

func (l line) text() string {
	if l.row == nil && l.raw != "" {
		return terminal.Text(l.raw)
	}
	return l.row.Text()
}

// A drawing collects the lines of an item.
type drawing struct {
	lines []line
	width int
	whole bool // nothing is folded
	code  int
	depth int
	pad   int // of all lines
}

// draw returns the lines of an item, a blank one before them.
func draw(it *view.Item, width int, whole bool) []line {
	d := drawing{width: width, whole: whole}
	d.item(it)
	return d.lines
}

func (d *drawing) blank() { d.lines = append(d.lines, line{}) }

// say adds a text, wrapped behind a mark.
func (d *drawing) say(mark styled.Span, body styled.Row) {
	indent := styled.Row{{Text: strings.Repeat(" ", d.pad)}}
	first := styled.Join(indent, styled.Row{mark})
	rest := styled.Row{{Text: strings.Repeat(" ", first.Width())}}
	for _, r := range body.Wrap(d.width, first, rest) {
		d.lines = append(d.lines, line{row: r, code: d.code})
	}
}

// rows adds rows, indented.
func (d *drawing) rows(rows []styled.Row, by int) {
	indent := styled.Row{{Text: strings.Repeat(" ", d.pad+by)}}
	for _, r := range rows {
		if r != nil {
			r = styled.Join(indent, r)
		}
		d.lines = append(d.lines, line{row: r, code: d.code})
	}
}

// output adds lines as they are. If they are many, only the first and the last ones are
// shown, unless the item is unfolded.
func (d *drawing) output(k styled.Kind, s string, by int) {
	s = strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	if s == "" {
		return
	}
	add := func(lines []string) {
		for _, l := range lines {
			d.lines = append(d.lines, line{raw: l, kind: k, pad: d.pad + by, code: d.code})
		}
	}
	lines := strings.Split(s, "\n")
	if hidden := len(lines) - headLines - tailLines; !d.whole && hidden > 1 {
		add(lines[:headLines])
		d.say(styled.Span{Kind: styled.Dim, Text: strings.Repeat(" ", by)}, styled.Row{{Kind: styled.Dim, Text: fmt.Sprintf("… %d more lines (enter)", hidden)}})
		lines = lines[headLines+hidden:]
	}
	add(lines)
}

func (d *drawing) item(it *view.Item) {
	switch data := it.Data.(type) {
	case *view.Prompt:
		d.blank()
		d.prompt(data)
	case *view.Answer:
		d.blank()
		d.answer(data)
	case *view.Call:
		d.blank()
		d.call(data)
	case *view.Agent:
		d.blank()
		d.agent(data)
	case *view.Notice:
		if data.Text != "" {
			d.say(styled.Span{Kind: styled.Dim, Text: "· "}, styled.Row{styled.Clean(styled.Dim, data.Text)})
		}
	case *view.End:
		d.blank()
		d.say(styled.Span{}, styled.Row{styled.Clean(styled.Dim, endText(data))})
	}
}

func (d *drawing) prompt(p *view.Prompt) {
	mark, k := styled.Span{Kind: styled.Accent, Text: "❯ "}, styled.Plain
	attr := styled.Strong
	if !p.FromUser() {
		mark, k, attr = styled.Span{Kind: styled.Dim, Text: "+ "}, styled.Dim, 0
	}
	lines := strings.Split(strings.TrimRight(promptText(p), "\n"), "\n")
	hidden := 0
	if !d.whole && len(lines) > headLines+tailLines+1 {
		hidden = len(lines) - headLines
		lines = lines[:headLines]
	}
	for i, l := range lines {
		if i > 0 {
			mark = styled.Span{Text: "  "}
		}
		s := styled.Clean(k, l)
		s.Attr = attr
		d.say(mark, styled.Row{s})
	}
	if hidden > 0 {
		d.say(styled.Span{Text: "  "}, styled.Row{{Kind: styled.Dim, Text: fmt.Sprintf("… %d more lines (enter)", hidden)}})
	}
	if p.Dropped {
		d.say(styled.Span{Text: "  "}, styled.Row{{Kind: styled.Warn, Text: "not sent: the run was stopped before"}})
	}
}

func (d *drawing) answer(a *view.Answer) {
	if thinking := strings.TrimSpace(a.Thinking()); thinking != "" {
		mark := styled.Span{Kind: styled.Dim, Text: "  "}
		if d.whole {
			d.say(styled.Span{}, styled.Row{{Kind: styled.Dim, Attr: styled.Emphasis, Text: "thinking"}})
			for l := range strings.SplitSeq(thinking, "\n") {
				d.say(mark, styled.Row{styled.Clean(styled.Dim, l)})
			}
		} else {
			n := strings.Count(thinking, "\n") + 1
			d.say(styled.Span{}, styled.Row{{Kind: styled.Dim, Attr: styled.Emphasis, Text: "thinking, " + text.Count(n, "line") + " (enter)"}})
		}
		if a.Text() != "" {
			d.blank()
		}
	}
	v := mdview.New(d.width - d.pad)
	for _, b := range markdown.Parse(a.Text()) {
		d.rows(v.Part(markdown.Part{Block: b}), 0)
		d.code += len(codeIn([]markdown.Block{b}))
	}
	if f := a.Failed; f != nil {
		if a.Text() != "" {
			d.say(styled.Span{Kind: styled.Warn, Text: "↺ "}, styled.Row{{Kind: styled.Warn, Text: "the connection broke: the answer above does not count"}})
		}
		d.say(styled.Span{Kind: styled.Warn, Text: "! "}, styled.Row{styled.Clean(styled.Warn, f.Message)})
	}
}

func (d *drawing) call(c *view.Call) {
	mark := styled.Span{Kind: styled.Dim, Text: "○ "}
	if r := c.Result; r != nil {
		if mark = (styled.Span{Kind: styled.Good, Text: "✓ "}); r.Result.IsError {
			mark = styled.Span{Kind: styled.Bad, Text: "✗ "}
		}
	}
	name := styled.Span{Text: styled.Label(c.Use.Name)}
	name.Attr = styled.Strong
	head := styled.Row{name}
	if r := c.Result; r != nil {
		if title := strings.TrimSpace(strings.TrimPrefix(r.Result.Title, c.Use.Name)); title != "" && !strings.Contains(inputText(c), title) {
			head = append(head, styled.Clean(styled.Plain, "  "+title))
		}
		if r.Duration > 0 {
			head = append(head, styled.Span{Kind: styled.Dim, Text: "  " + r.Duration.Round(time.Millisecond).String()})
		}
	}
	d.say(mark, head)
	diff := c.Diff()
	d.input(c, diff != "")
	for _, decision := range c.Decisions {
		if said := decision.Decision; said.Reason != "" && (decision.Answered || said.Behavior != permission.Allowed) {
			d.say(styled.Span{Text: "  "}, styled.Row{styled.Clean(styled.Dim, string(said.Behavior)+": "+said.Reason)})
		}
	}
	if diff != "" {
		d.rows(difftext.Rows(diff, difftext.Options{}), 2)
	}
	if d.depth < maxDepth {
		for _, it := range c.Items {
			d.within(it)
		}
	}
	if r := c.Result; r != nil && (diff == "" || r.Result.IsError) {
		k := styled.Plain
		if r.Result.IsError {
			k = styled.Bad
		}
		d.output(k, blocksText(r.Result.Content), 2)
	} else if r == nil && c.Status.Text != "" {
		d.output(styled.Dim, c.Status.Text, 2)
	}
}

// within draws an item that another one has started.
func (d *drawing) within(it *view.Item) {
	d.depth, d.pad = d.depth+1, d.pad+2
	d.item(it)
	d.depth, d.pad = d.depth-1, d.pad-2
}

// input draws what a call was made with. The texts that a diff shows are left out.
func (d *drawing) input(c *view.Call, diff bool) {
	var members map[string]json.RawMessage
	raw := c.Input()
	if len(raw) == 0 {
		raw = json.RawMessage(c.Written())
	}
	if json.Unmarshal(raw, &members) != nil {
		d.output(styled.Dim, string(raw), 2)
		return
	}
	if command, ok := textOf(members["command"]); ok {
		d.output(styled.Code, "$ "+command, 2)
		delete(members, "command")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if diff && slices.Contains([]string{"content", "old_string", "new_string", "edits", "patch", "new_source"}, name) {
			continue
		}
		value, ok := textOf(members[name])
		if !ok {
			value = string(members[name])
		}
		if strings.Contains(value, "\n") {
			d.say(styled.Span{Text: "  "}, styled.Row{styled.Clean(styled.Name, name+":")})
			d.output(styled.Plain, value, 4)
			continue
		}
		d.say(styled.Span{Text: "  "}, styled.Row{styled.Clean(styled.Name, name+": "), styled.Clean(styled.Plain, value)})
	}
}

func textOf(value json.RawMessage) (string, bool) {
	var s string
	err := json.Unmarshal(value, &s)
	return s, err == nil && len(value) > 0 && value[0] == '"'
}

func (d *drawing) agent(a *view.Agent) {
	head := "agent " + styled.Label(a.Start.Agent)
	if a.End != nil {
		head += ": " + string(a.End.Reason)
		if a.End.Message != "" {
			head += ": " + a.End.Message
		}
	}
	d.say(styled.Span{Kind: styled.Accent, Text: "▹ "}, styled.Row{styled.Clean(styled.Accent, head)})
	if a.View == nil || d.depth >= maxDepth {
		return
	}
	if !d.whole && len(a.View.Items) > 0 {
		d.say(styled.Span{Text: "  "}, styled.Row{{Kind: styled.Dim, Text: text.Count(len(a.View.Items), "item") + " (enter)"}})
		return
	}
	for _, it := range a.View.Items {
		d.within(it)
	}
}

func endText(e *view.End) string {
	said := string(e.Fact.Reason)
	if e.Fact.Message != "" {
		said += ": " + text.OneLine(e.Fact.Message)
	}
	parts := []string{said, text.Count(e.Fact.Turns, "turn"), text.Count(e.Calls, "call")}
	if e.Denied > 0 {
		parts = append(parts, fmt.Sprintf("%d denied", e.Denied))
	}
	parts = append(parts, e.Fact.Duration.Round(time.Millisecond).String())
	if e.Fact.CostUSD != nil {
		parts = append(parts, fmt.Sprintf("$%.4f", *e.Fact.CostUSD))
	}
	return strings.Join(parts, " · ")
}

// promptText is a message as the person wrote it.
func promptText(p *view.Prompt) string {
	if x := p.Message.Expansion; x != nil {
		return strings.TrimSpace("/" + x.Name + " " + x.Args)
	}
	return blocksText(p.Message.Message.Content)
}

// blocksText returns the texts of blocks, and a word for each that is none.
func blocksText(blocks llm.Blocks) string {
	var parts []string
	for _, b := range blocks {
		switch b := b.(type) {
		case llm.Text:
			parts = append(parts, b.Text)
		case llm.Image:
			parts = append(parts, fmt.Sprintf("[image, %s, %d bytes]", b.MediaType, len(b.Data)))
		case llm.Document:
			parts = append(parts, fmt.Sprintf("[document %s, %s, %d bytes]", b.Title, b.MediaType, len(b.Data)))
		}
	}
	return strings.Join(parts, "\n")
}

// Text returns all of an item as plain text, for copies and searches. An answer is the
// Markdown that the model wrote.
func Text(it *view.Item) string { return itemText(it, 0) }

func itemText(it *view.Item, depth int) string {
	var parts []string
	add := func(s string) {
		if s = strings.TrimRight(s, "\n"); s != "" {
			parts = append(parts, s)
		}
	}
	var items []*view.Item
	switch data := it.Data.(type) {
	case *view.Prompt:
		add(promptText(data))
	case *view.Answer:
		add(data.Text())
		if data.Failed != nil {
			add(data.Failed.Message)
		}
	case *view.Call:
		add(data.Use.Name)
		add(inputText(data))
		add(data.Diff())
		items = data.Items
		if data.Result != nil {
			add(blocksText(data.Result.Result.Content))
		}
	case *view.Agent:
		add("agent " + data.Start.Agent)
		if data.View != nil {
			items = data.View.Items
		}
		if data.End != nil && data.End.Reason != event.Completed {
			add(string(data.End.Reason) + " " + data.End.Message)
		}
	case *view.Notice:
		add(data.Text)
	case *view.End:
		add(endText(data))
	}
	for _, in := range items {
		if depth < maxDepth {
			add(itemText(in, depth+1))
		}
	}
	return strings.Join(parts, "\n")
}

// inputText is the input of a call: a command as it is, other members by name.
func inputText(c *view.Call) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(c.Input(), &members) != nil {
		return string(c.Input())
	}
	var b strings.Builder
	if command, ok := textOf(members["command"]); ok {
		b.WriteString("$ " + command + "\n")
		delete(members, "command")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value, ok := textOf(members[name])
		if !ok {
			value = string(members[name])
		}
		b.WriteString(name + ": " + value + "\n")
	}
	return b.String()
}

// codeBlocks returns the blocks of code in an item. That of a call is its command.
func codeBlocks(it *view.Item) []string {
	switch data := it.Data.(type) {
	case *view.Answer:
		return codeIn(markdown.Parse(data.Text()))
	case *view.Call:
		var input struct{ Command string }
		if json.Unmarshal(data.Input(), &input) == nil && input.Command != "" {
			return []string{input.Command}
		}
	}
	return nil
}

func codeIn(blocks []markdown.Block) []string {
	var out []string
	for _, b := range blocks {
		switch b := b.(type) {
		case markdown.Code:
			out = append(out, b.Text)
		case markdown.Quote:
			out = append(out, codeIn(b.Blocks)...)
		case markdown.List:
			for _, item := range b.Items {
				out = append(out, codeIn(item.Blocks)...)
			}
		}
	}
	return out
}
