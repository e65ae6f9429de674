package pager

import (
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
)

// key acts on a key.
func (p *Pager) key(k input.Key) []Action {
	if utf8.RuneCountInString(k.Text) > 1 { // keys that came at the same time
		var do []Action
		for _, r := range k.Text {
			do = append(do, p.key(input.Key{Code: unicode.ToLower(r), Text: string(r)})...)
		}
		return do
	}
	if p.typing {
		return p.typed(k)
	}
	p.note = ""
	page := max(p.rows()-2, 1)
	switch k.String() {
	case "q", "esc", "ctrl+c", "ctrl+o":
		return []Action{Close{}}
	case "down", "j", "ctrl+n":
		p.scroll(1)
	case "up", "k", "ctrl+p":
		p.scroll(-1)
	case "pagedown", "space", " ", "f", "ctrl+f":
		p.scroll(page)
	case "pageup", "b", "ctrl+b":
		p.scroll(-page)
	case "d", "ctrl+d":
		p.scroll(page / 2)
	case "u", "ctrl+u":
		p.scroll(-page / 2)
	case "home", "g":
		p.top, p.atEnd = place{}, false
		p.pick(place{})
	case "end", "G":
		p.goEnd()
		return []Action{Refresh{}}
	case "right", "l":
		p.left += max(p.width/2, 1)
	case "left", "h":
		p.left = max(p.left-max(p.width/2, 1), 0)
	case "tab", "]":
		p.neighbour(1)
	case "shift+tab", "[":
		p.neighbour(-1)
	case "enter":
		p.fold()
	case "o":
		p.all, p.open, p.lines = !p.all, nil, nil
		p.top.line = 0
	case "y":
		return p.copyItem()
	case "c":
		return p.copyCode()
	case "/":
		p.typing, p.query = true, ""
	case "n":
		return p.again(1)
	case "N":
		return p.again(-1)
	}
	return nil
}

// maxQuery is how long a search may be, in bytes.
const maxQuery = 200

// typed acts on a key while a search is being written.
func (p *Pager) typed(k input.Key) []Action {
	switch k.String() {
	case "enter":
		p.typing = false
		if p.query == "" {
			p.query = p.found
			return nil
		}
		p.note, p.found, p.hits, p.seek = "searching …", "", nil, 0
		return []Action{Find{p.query}}
	case "esc", "ctrl+c":
		p.typing, p.query = false, p.found
	case "backspace", "ctrl+h":
		if p.query == "" {
			p.typing, p.query = false, p.found
			break
		}
		_, n := utf8.DecodeLastRuneInString(p.query)
		p.query = p.query[:len(p.query)-n]
	case "ctrl+u":
		p.query = ""
	default:
		if len(p.query)+len(k.Text) <= maxQuery {
			p.query += k.Text
		}
	}
	return nil
}

// neighbour selects the item after or before the selected one, and shows its first line.
func (p *Pager) neighbour(by int) {
	q, ok := p.next(p.selected, by)
	for ok && len(p.show(q)) == 0 {
		q, ok = p.next(q, by)
	}
	if !ok {
		return
	}
	p.pick(q)
	p.reveal(q)
}

// reveal scrolls so that a line is on the screen.
func (p *Pager) reveal(q place) {
	if !slices.Contains(p.visible(), q) {
		p.top = p.back(q, p.rows()/3)
	}
}

// fold folds or unfolds the selected item.
func (p *Pager) fold() {
	q := p.selected
	if p.open[q] {
		delete(p.open, q)
	} else {
		set(&p.open, q, true)
	}
	delete(p.lines, q)
	if p.top.ofItem() == q {
		p.top = q
	}
}

// copyItem copies the selected item.
func (p *Pager) copyItem() []Action {
	it := p.item(p.selected)
	if it == nil {
		return nil
	}
	text := Text(it)
	p.note = fmt.Sprintf("copied %s", size(text))
	return []Action{Copy{text}}
}

// copyCode copies a block of code of the selected item: the first one that is not above the
// screen, and then the next ones.
func (p *Pager) copyCode() []Action {
	it := p.item(p.selected)
	if it == nil {
		return nil
	}
	blocks := codeBlocks(it)
	if len(blocks) == 0 {
		p.note = "this item has no code"
		return nil
	}
	first := 0
	if lines := p.show(p.selected); p.top.ofItem() == p.selected && p.top.line < len(lines) {
		first = lines[p.top.line].code
	}
	n := (first + p.copied) % len(blocks)
	p.copied++
	p.note = fmt.Sprintf("copied block %d of %d, %s", n+1, len(blocks), size(blocks[n]))
	return []Action{Copy{blocks[n]}}
}
