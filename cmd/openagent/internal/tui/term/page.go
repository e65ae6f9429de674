package term

import "strconv"

// A page is the alternate screen, which shows rows in their places and has no history.
type page struct {
	open          bool
	rows          []string // as painted
	width, height int
	stale         bool
}

const (
	alternateOn  = "\x1b[?1049h"
	alternateOff = "\x1b[?1049l"
)

// Page shows rows on the alternate screen, which it opens first if need be. They are no
// wider than the terminal. The cursor is at the end of the last one.
func (t *Terminal) Page(rows []string) error {
	if err := t.openPage(); err != nil {
		return err
	}
	w, h, err := t.Size()
	if err != nil {
		return err
	}
	t.buf = t.page.paint(t.buf[:0], sanitized(rows), w, h, t.About().NoSync)
	return t.flush()
}

func (t *Terminal) openPage() error {
	if t.page.open {
		return nil
	}
	t.state.Lock()
	t.state.alternate = true
	t.state.Unlock()
	t.page = page{open: true, stale: true}
	_, err := t.out.WriteString(alternateOn + keysOn)
	return err
}

// ClosePage returns from the alternate screen.
func (t *Terminal) ClosePage() error {
	if !t.page.open {
		return nil
	}
	t.page = page{}
	_, err := t.out.WriteString(keysOff + alternateOff)
	t.state.Lock()
	t.state.alternate = false
	t.state.Unlock()
	return err
}

func (p *page) paint(b []byte, rows []string, width, height int, plain bool) []byte {
	rows = rows[:min(len(rows), height)]
	whole := p.stale || p.width != width || p.height != height
	start := len(b)
	if !plain {
		b = append(b, syncOn...)
	}
	body := len(b)
	for i := range height {
		row, old := "", ""
		if i < len(rows) {
			row = rows[i]
		}
		if i < len(p.rows) {
			old = p.rows[i]
		}
		if !whole && row == old {
			continue
		}
		b = append(b, "\x1b["...)
		b = append(strconv.AppendInt(b, int64(i+1), 10), 'H')
		if whole {
			old = ""
		}
		b, _ = change(b, old, row)
	}
	if len(b) == body {
		return b[:start]
	}
	p.rows, p.width, p.height, p.stale = append(p.rows[:0], rows...), width, height, false
	if !plain {
		b = append(b, syncOff...)
	}
	return b
}
