package timeview

import (
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/amount"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	"github.com/openagent-go/agent/internal/timeline"
)

// marks are the letters of the kinds of spans.
var marks = map[timeline.Kind]string{timeline.Model: "█", timeline.Tool: "▓", timeline.You: "░", timeline.Retry: "×"}

// ranks says which kind a cell shows that holds several: the one that is easily missed.
var ranks = map[timeline.Kind]int{timeline.Model: 1, timeline.Tool: 2, timeline.You: 3, timeline.Retry: 4}

// colours are the meanings of the kinds of spans.
var colours = map[timeline.Kind]styled.Kind{timeline.Model: styled.Accent, timeline.Tool: styled.Good, timeline.You: styled.Warn, timeline.Retry: styled.Bad}

const (
	headRows = 2 // the title and the ruler
	footRows = 4 // the pointer, two about the selected span, the status
	maxName  = 24
)

// rows is how many lanes the screen shows.
func (v *View) rows() int { return max(v.height-headRows-footRows, 1) }

// nameWidth is the width of the names of lanes.
func (v *View) nameWidth() int {
	n := 4
	for _, l := range v.t.Lanes {
		n = max(n, 2*l.Depth+frame.Width(styled.Clean(styled.Plain, l.Name).Text))
	}
	return min(n, maxName, v.width/4)
}

// plotWidth is how many cells the time takes.
func (v *View) plotWidth() int { return max(v.width-v.nameWidth()-4, 1) }

// Draw returns the rows of the screen, as many as it is high. None is wider than it.
func (v *View) Draw() []styled.Row {
	if v.height == 0 {
		return nil
	}
	var out []styled.Row
	switch {
	case !v.opened:
		out = append(out, styled.Row{{Kind: styled.Dim, Text: "reading the session …"}})
	case v.t.Axis.Total == 0:
		out = append(out, styled.Row{{Kind: styled.Dim, Text: "nothing has happened yet"}})
	default:
		out = append(out, v.title(), v.ruler())
		for i := v.top; i < len(v.t.Lanes) && i < v.top+v.rows(); i++ {
			out = append(out, v.drawLane(i))
			if i == v.lane {
				out = append(out, v.pointer())
			}
		}
		out = append(out, v.about()...)
	}
	for len(out) < v.height-1 {
		out = append(out, nil)
	}
	out = append(out[:v.height-1], v.status())
	for i, r := range out {
		out[i] = r.Cut(v.width)
	}
	return out
}

// title says how long the session worked, and what the marks are.
func (v *View) title() styled.Row {
	left := styled.Row{{Attr: styled.Strong, Text: "timeline"}, {Kind: styled.Dim, Text: " · " + amount.Took(v.t.Axis.Total)}}
	if v.zoom > 0 {
		left = append(left, styled.Span{Kind: styled.Dim, Text: fmt.Sprintf(", %s shown", amount.Took(v.shown()))})
	}
	var right styled.Row
	for _, k := range []timeline.Kind{timeline.Model, timeline.Tool, timeline.You, timeline.Retry} {
		right = append(right, styled.Span{Kind: colours[k], Text: marks[k]}, styled.Span{Kind: styled.Dim, Text: " " + string(k) + "  "})
	}
	return beside(left, right, v.width)
}

// beside puts right at the right edge, if there is room.
func beside(left, right styled.Row, width int) styled.Row {
	gap := width - left.Width() - right.Width()
	if gap < 2 {
		return left.Cut(width)
	}
	return styled.Join(left, styled.Row{{Text: strings.Repeat(" ", gap)}}, right)
}

// column is the cell of the plot that a place of the axis is in.
func (v *View) column(at time.Duration) int {
	if v.shown() <= 0 {
		return 0
	}
	return int(float64(at-v.left) / float64(v.shown()) * float64(v.plotWidth()))
}

// gapTime is how much time must be left out to be marked.
const gapTime = time.Minute

// ruler is the row with the times, and with a mark where time between runs is left out.
func (v *View) ruler() styled.Row {
	n := v.plotWidth()
	cells := make([]string, n)
	for i := range cells {
		cells[i] = " "
	}
	for _, b := range v.t.Axis.Breaks(gapTime) {
		if c := v.column(b.At); c >= 0 && c < n {
			cells[c] = "┊"
		}
	}
	step := v.step()
	for at := (v.left / step) * step; at <= v.left+v.shown(); at += step {
		label := []rune("╷" + amount.Clock(at))
		if step < time.Second {
			label = []rune(fmt.Sprintf("╷%.2f s", at.Seconds()))
		}
		c := v.column(at)
		if c < 0 || c+len(label) > n || strings.TrimSpace(strings.Join(cells[c:c+len(label)], "")) != "" {
			continue
		}
		for i, r := range label {
			cells[c+i] = string(r)
		}
	}
	return styled.Row{{Text: strings.Repeat(" ", v.nameWidth()+3)}, {Kind: styled.Dim, Text: strings.Join(cells, "")}}
}

// step is the time between two marks of the ruler.
func (v *View) step() time.Duration {
	least := v.shown() * 12 / time.Duration(v.plotWidth())
	for _, s := range []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
		30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour} {
		if s >= least {
			return s
		}
	}
	return max(24*time.Hour, least)
}

// drawLane is the row of a lane.
func (v *View) drawLane(i int) styled.Row {
	l := v.t.Lanes[i]
	mark, attr := "  ", styled.Attr(0)
	if i == v.lane {
		mark, attr = "▸ ", styled.Strong
	}
	name := styled.Clean(styled.Plain, l.Name)
	name.Attr = attr
	row := styled.Row{{Kind: styled.Accent, Text: mark}, {Text: strings.Repeat(" ", 2*l.Depth)}, name}
	width := v.nameWidth() + 2
	row = styled.Join(row.Cut(width).Pad(width), styled.Row{{Text: " "}})
	for _, c := range v.cells(i) {
		row = row.Add(c)
	}
	return row
}

// cells are the cells of a lane.
func (v *View) cells(i int) []styled.Span {
	l := v.t.Lanes[i]
	n := v.plotWidth()
	cells := make([]styled.Span, n)
	rank := make([]int, n)
	for c := range cells {
		cells[c].Text = " "
	}
	paint := func(p timeline.Period, do func(c int)) {
		from, to := v.column(v.t.Axis.At(p.Start)), v.column(v.t.Axis.At(p.End))
		for c := max(from, 0); c < n && (c < to || c == from); c++ {
			do(c)
		}
		if from == n && v.t.Axis.At(p.Start) == v.left+v.shown() { // at the very end
			do(n - 1)
		}
	}
	for _, w := range l.Work {
		paint(w, func(c int) { cells[c] = styled.Span{Kind: styled.Dim, Text: "·"} })
	}
	for _, s := range l.Spans {
		paint(s.Period, func(c int) {
			if r := ranks[s.Kind]; r > rank[c] {
				rank[c] = r
				cells[c] = styled.Span{Kind: colours[s.Kind], Text: marks[s.Kind]}
				if s.Failed && s.Kind != timeline.You {
					cells[c].Kind = styled.Bad
				}
			}
		})
	}
	if s := v.selected(); s != nil && i == v.lane {
		paint(s.Period, func(c int) {
			cells[c].Text = marks[s.Kind]
			cells[c].Attr = styled.Reverse
		})
	}
	return cells
}

// pointer is the row below the selected lane. It points at the selected span.
func (v *View) pointer() styled.Row {
	s := v.selected()
	if s == nil {
		return nil
	}
	n := v.plotWidth()
	from := min(max(v.column(v.t.Axis.At(s.Start)), 0), n-1)
	to := min(max(v.column(v.t.Axis.At(s.End)), from+1), n)
	points := "▲"
	if w := to - from; w > 1 {
		points = "└" + strings.Repeat("─", w-2) + "┘"
	}
	return styled.Row{{Text: strings.Repeat(" ", v.nameWidth()+3+from)}, {Kind: styled.Accent, Text: points}}
}

// about says what the selected span is.
func (v *View) about() []styled.Row {
	s := v.selected()
	if s == nil {
		return []styled.Row{{{Kind: styled.Dim, Text: "  nothing is recorded of what this agent did"}}}
	}
	name := styled.Clean(styled.Plain, s.Name)
	name.Attr = styled.Strong
	first := styled.Row{{Kind: colours[s.Kind], Text: marks[s.Kind] + " "}, {Kind: styled.Dim, Text: says(s)}, name}
	if s.What != "" {
		first = append(first, styled.Clean(styled.Plain, "  "+s.What))
	}
	parts := []string{amount.Took(s.Took()), "at " + v.at(s.Start), s.Start.In(v.zone).Format("2 Jan 15:04:05")}
	if s.Open {
		parts[0] += " so far"
	}
	if n := s.Usage.Context(); n > 0 {
		parts = append(parts, "↑"+amount.Tokens(n)+" ↓"+amount.Tokens(s.Usage.Output))
	}
	if s.CostUSD != nil {
		parts = append(parts, amount.Dollars(*s.CostUSD))
	}
	return []styled.Row{first, {{Kind: styled.Dim, Text: "  " + strings.Join(parts, " · ")}}}
}

// at is a place of the axis in words: exact while the session is short.
func (v *View) at(t time.Time) string {
	if v.t.Axis.Total < time.Minute {
		return fmt.Sprintf("%.1f s", v.t.Axis.At(t).Seconds())
	}
	return amount.Clock(v.t.Axis.At(t))
}

// says is what a span is, before its name.
func says(s *timeline.Span) string {
	switch {
	case s.Kind == timeline.You && s.Failed:
		return "you said no: "
	case s.Kind == timeline.You && s.Open:
		return "waits for you: "
	case s.Kind == timeline.You:
		return "you answered: "
	case s.Kind == timeline.Retry && s.Open:
		return "waits before it tries again: "
	case s.Kind == timeline.Retry:
		return "waited before it tried again: "
	case s.Failed:
		return "failed: "
	}
	return ""
}

// status is the last row.
func (v *View) status() styled.Row {
	var left styled.Row
	if v.alert != "" {
		left = styled.Row{styled.Clean(styled.Warn, "? "+v.alert)}
	} else if v.note != "" {
		left = styled.Row{styled.Clean(styled.Warn, v.note)}
	}
	for _, keys := range []string{"←→ select · ↑↓ agents · + − zoom · 0 all · enter shows it in the session · q back", "←→ ↑↓ select · + − zoom · enter · q back"} {
		right := styled.Row{{Kind: styled.Dim, Text: keys}}
		if len(left) == 0 && right.Width() <= v.width {
			return right
		}
		if left.Width()+2+right.Width() <= v.width {
			return beside(left, right, v.width)
		}
	}
	return left.Cut(v.width)
}
