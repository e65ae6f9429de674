package pager

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/session/view"
)

// Has reports whether an item has a text, as the pager finds it: small letters also stand for
// capital ones.
func Has(it *view.Item, text string) bool {
	return len(places(terminal.Text(Text(it)), text)) > 0
}

// places returns where a text has another one: the beginnings, in bytes.
func places(s, text string) []int {
	if text == "" {
		return nil
	}
	if !strings.ContainsFunc(text, unicode.IsUpper) {
		s = strings.Map(func(r rune) rune {
			if small := unicode.ToLower(r); utf8.RuneLen(small) == utf8.RuneLen(r) {
				return small
			}
			return r
		}, s)
	}
	var out []int
	for from := 0; ; {
		n := strings.Index(s[from:], text)
		if n < 0 {
			return out
		}
		out = append(out, from+n)
		from += n + len(text)
	}
}

// foundAll takes in the result of a search, and goes to the first item at or behind the
// selected one.
func (p *Pager) foundAll(in Found) []Action {
	if in.Text != p.query {
		return nil
	}
	p.found, p.hits, p.hit, p.note = in.Text, in.Hits, -1, ""
	if len(p.hits) == 0 {
		p.note = "not found: " + in.Text
		return nil
	}
	p.at = place{p.top.page, p.top.item, p.top.line - 1}
	for i, h := range p.hits {
		if q := (place{h.Page, h.Item, 0}); !q.before(p.at.ofItem()) {
			p.hit = i
			break
		}
	}
	if p.hit < 0 {
		p.hit = 0
	}
	if h := p.hits[p.hit]; h.Page != p.at.page || h.Item != p.at.item {
		p.at = place{h.Page, h.Item, aboveAll}
	}
	p.seek = 1
	return p.goHit()
}

// again goes to the next line that has the text of the search, or to the one before.
func (p *Pager) again(by int) []Action {
	if len(p.hits) == 0 {
		return nil
	}
	p.seek = by
	return p.goHit()
}

// goHit shows the page of the hit, whose line is found as soon as it is there.
func (p *Pager) goHit() []Action {
	p.top, p.atEnd = place{p.hits[p.hit].Page, p.hits[p.hit].Item, 0}, false
	return nil
}

// The lines before and after all lines of an item.
const (
	aboveAll = -1
	belowAll = 1 << 30
)

// showHit looks for the next line with the text, in the direction of the search, and shows it.
// If a page is not there yet, it waits for it. Of an item that has the text in no single line,
// it shows the first one.
func (p *Pager) showHit() {
	for range len(p.hits) + 1 {
		h := p.hits[p.hit]
		q := place{h.Page, h.Item, 0}
		if p.loaded[q.page] == nil {
			p.top = q
			return
		}
		n, ok := p.lineWith(q)
		if !ok && (p.at.line == aboveAll || p.at.line == belowAll) && len(p.show(q)) > 0 {
			n, ok = min(1, len(p.show(q))-1), true
		}
		if ok {
			p.at = place{q.page, q.item, n}
			p.seek = 0
			p.pick(q)
			p.top = q
			p.reveal(p.at)
			p.note = "match in item " + strconv.Itoa(p.hit+1) + " of " + strconv.Itoa(len(p.hits))
			return
		}
		p.hit = (p.hit + p.seek + len(p.hits)) % len(p.hits)
		p.at = place{p.hits[p.hit].Page, p.hits[p.hit].Item, aboveAll}
		if p.seek < 0 {
			p.at.line = belowAll
		}
	}
	p.seek = 0
}

// lineWith returns the next line of an item that has the text of the search. It unfolds the
// item if the line is hidden.
func (p *Pager) lineWith(q place) (int, bool) {
	if n, ok := p.lineIn(p.show(q)); ok {
		return n, true
	}
	if p.unfolded(q) {
		return 0, false
	}
	n, ok := p.lineIn(draw(p.item(q), p.textWidth(), true))
	if ok {
		p.selected = q
		p.fold()
	}
	return n, ok
}

// lineIn returns the next of some lines that has the text.
func (p *Pager) lineIn(lines []line) (int, bool) {
	for n := p.at.line + p.seek; n >= 0 && n < len(lines) || n >= len(lines) && p.seek < 0; n += p.seek {
		if n >= len(lines) {
			n = len(lines)
			continue
		}
		if len(places(lines[n].text(), p.found)) > 0 {
			return n, true
		}
	}
	return 0, false
}
