package pager

import (
	"fmt"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	"github.com/openagent-go/agent/internal/text"
)

// margin is how many cells are left of the text.
const margin = 2

func (p *Pager) textWidth() int { return max(p.width-margin, 20) }

// Draw returns the rows of the screen, as many as it is high. None is wider than it.
func (p *Pager) Draw() []styled.Row {
	if p.height == 0 {
		return nil
	}
	var out []styled.Row
	for _, q := range p.visible() {
		mark := styled.Span{Text: "  "}
		if shown := p.show(q)[q.line]; q.ofItem() == p.selected && (q.line > 0 || shown.text() != "") {
			mark = styled.Span{Kind: styled.Accent, Text: "▌ "}
		}
		row := p.marked(p.show(q)[q.line].styled(), q)
		out = append(out, styled.Join(styled.Row{mark}, window(row, p.left, p.width-margin)))
	}
	if len(out) == 0 && p.pages > 0 {
		out = append(out, styled.Row{{Kind: styled.Dim, Text: "  loading …"}}.Cut(p.width))
	}
	for len(out) < p.rows() {
		out = append(out, nil)
	}
	return append(out[:p.height-1], p.status())
}

// marked marks the text of the search in a row.
func (p *Pager) marked(row styled.Row, q place) styled.Row {
	if p.found == "" {
		return row
	}
	hits := places(row.Text(), p.found)
	if len(hits) == 0 {
		return row
	}
	attr := styled.Underlined
	if q == p.at {
		attr = styled.Reverse
	}
	var out styled.Row
	at := 0
	for _, s := range row {
		end := at + len(s.Text)
		for s.Text != "" {
			for len(hits) > 0 && hits[0]+len(p.found) <= at {
				hits = hits[1:]
			}
			n, a := len(s.Text), s.Attr
			if len(hits) > 0 {
				if hits[0] > at {
					n = min(n, hits[0]-at)
				} else {
					n, a = min(n, hits[0]+len(p.found)-at), s.Attr|attr
				}
			}
			out = append(out, styled.Span{Kind: s.Kind, Attr: a, Text: s.Text[:n]})
			s.Text = s.Text[n:]
			at += n
		}
		at = end
	}
	return out
}

// window returns so many cells of a row, behind those that are scrolled away. What is left
// out is marked.
func window(row styled.Row, left, width int) styled.Row {
	if left > 0 && len(row) > 0 {
		var out styled.Row
		skip := left + 1
		for _, s := range row {
			head := styled.Prefix(s.Text, skip)
			skip -= frame.Width(head)
			if len(head) < len(s.Text) {
				skip = 0
			}
			s.Text = s.Text[len(head):]
			out = append(out, s)
		}
		row = styled.Join(styled.Row{{Kind: styled.Dim, Text: "…"}}, out)
	}
	return row.Cut(width)
}

// status is the last row of the screen.
func (p *Pager) status() styled.Row {
	if p.typing {
		return styled.Join(styled.Row{{Kind: styled.Accent, Text: "/"}, styled.Clean(styled.Plain, p.query), {Kind: styled.Dim, Text: "▏ enter search · esc back"}}).Cut(p.width)
	}
	parts := []string{p.position()}
	if p.note != "" {
		parts = append(parts, p.note)
	}
	keys := "q back · / search · n N · tab item · enter fold · y copy · c copy code"
	left := styled.Row{styled.Clean(styled.Dim, strings.Join(parts, " · "))}
	if p.alert != "" {
		left = styled.Row{styled.Clean(styled.Warn, "? "+p.alert+"  "), left[0]}
	}
	right := styled.Row{{Kind: styled.Dim, Text: keys}}
	gap := p.width - left.Width() - right.Width()
	if gap < 2 {
		return left.Cut(p.width)
	}
	return styled.Join(left, styled.Row{{Text: strings.Repeat(" ", gap)}}, right)
}

// position says where the screen is in the session.
func (p *Pager) position() string {
	visible := p.visible()
	switch {
	case p.pages == 0 && p.note != "":
		return "empty"
	case p.pages == 0:
		return "opening …"
	case len(visible) == 0:
		return "loading …"
	}
	last := visible[len(visible)-1]
	if _, more := p.step(last, true); !more && last.page == p.pages-1 {
		return "end"
	}
	items := max(len(p.loaded[last.page]), 1)
	return fmt.Sprintf("%d %%", (100*last.page+100*(last.item+1)/items)/p.pages)
}

// size says how long a text is.
func size(s string) string {
	if n := strings.Count(s, "\n"); n > 1 {
		return text.Count(n, "line")
	}
	return text.Count(len(s), "byte")
}
