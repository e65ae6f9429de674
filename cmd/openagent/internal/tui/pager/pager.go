// Package pager shows a whole session, with every output, on a screen of its own. It is pure:
// inputs and pages of items go in, actions and rows of text come out.
//
//	var p pager.Pager
//	do(p.Update(pager.Opened{Pages: 12}))
//	do(p.Update(input.Resize{W: 100, H: 40}))
//	show(p.Draw())
//
// It holds a few pages of the session and draws only what is visible, so that a session of any
// length costs the same.
package pager

import (
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/session/view"
)

// An Input changes the pager. It is an [input.Key], an [input.Paste], an [input.Resize] or one
// of the types below.
type Input any

type (
	// Opened tells how many pages the session has. The pager goes to its end. In the same
	// edition pages are only added, and the last one grows.
	Opened struct{ Pages, Edition int }
	// Loaded brings a page.
	Loaded struct {
		Page  int
		Items []*view.Item
	}
	// Found answers a search: the items that have the text, in order.
	Found struct {
		Text string
		Hits []Hit
	}
	// Go shows an item as soon as its page is there: that with the ID, else that of the call,
	// else the one that a fact belongs to.
	Go struct {
		Page     int
		ID, Call string
		Seq      int64
	}
	// Alert is a text that the status shows first, until another one or "" comes.
	Alert struct{ Text string }
	// Failed says why an action failed.
	Failed struct{ Text string }
)

// A Hit is an item that has a text.
type Hit struct{ Page, Item int }

// An Action is what the pager asks the program to do.
type Action interface{ action() }

type (
	// Load reads a page. The program answers with Loaded.
	Load struct{ Page int }
	// Find looks for a text in all pages: see [Has]. The program answers with Found. It gives
	// up an earlier search.
	Find struct{ Text string }
	// Refresh looks for what was added to the session. The program answers with Opened.
	Refresh struct{}
	// Copy puts a text into the clipboard.
	Copy struct{ Text string }
	// Close leaves the pager.
	Close struct{}
)

func (Load) action()    {}
func (Find) action()    {}
func (Refresh) action() {}
func (Copy) action()    {}
func (Close) action()   {}

// A Pager is the state of the pager. The zero value is a pager that was not opened.
type Pager struct {
	width, height int

	pages   int
	edition int
	loaded  map[int][]*view.Item
	asked   map[int]bool // pages that were asked for

	top      place // the first line on the screen
	selected place // an item: its line is 0
	left     int   // cells that are scrolled away
	atEnd    bool  // the end is to be shown as soon as its page is there
	target   *Go   // an item that is to be shown as soon as its page is there

	open map[place]bool // items whose fold is not the usual one
	all  bool           // items are usually unfolded

	typing bool   // a search is being written
	query  string // of the search
	found  string // the text that hits are for
	hits   []Hit
	hit    int   // index in hits, -1: none yet
	at     place // the line of the hit
	seek   int   // direction in which a line of the hit's page is to be found as soon as it is there
	note   string
	alert  string
	copied int // blocks of code of the selected item

	lines map[place][]line // of items, as they are shown
}

// A place is a line of an item of a page.
type place struct{ page, item, line int }

// before reports whether a place is above another one.
func (p place) before(q place) bool {
	switch {
	case p.page != q.page:
		return p.page < q.page
	case p.item != q.item:
		return p.item < q.item
	}
	return p.line < q.line
}

// ofItem returns the place of the item that a place is in.
func (p place) ofItem() place { return place{p.page, p.item, 0} }

const keptPages = 2 // before and after the screen

// Update changes the pager, and returns what the program is to do.
func (p *Pager) Update(in Input) []Action {
	var do []Action
	switch in := in.(type) {
	case input.Resize:
		p.resize(in)
	case input.Key:
		do = p.key(in)
	case input.Paste:
		if p.typing {
			p.query += in.Text
		}
	case Opened:
		do = p.opened(in)
	case Loaded:
		delete(p.asked, in.Page)
		if in.Items == nil {
			in.Items = []*view.Item{} // the page is there, and empty
		}
		if in.Page == p.pages-1 && p.loaded[in.Page] != nil && p.top == p.endTop() {
			p.atEnd = true // it stays at the end, which has grown
		}
		set(&p.loaded, in.Page, in.Items)
		p.forget(func(q place) bool { return q.page == in.Page })
	case Found:
		do = p.foundAll(in)
	case Go:
		p.target, p.atEnd = &in, false
		p.top = place{page: in.Page}
	case Alert:
		p.alert = in.Text
		return nil
	case Failed:
		p.note, p.asked = in.Text, nil
		return nil
	}
	p.settle()
	return append(do, p.wants()...)
}

// showTarget selects and unfolds the item that is to be shown.
func (p *Pager) showTarget() {
	t := p.target
	p.target = nil
	best, rank := -1, 0
	for i, it := range p.loaded[t.Page] {
		r := 0
		switch c, ok := it.Data.(*view.Call); {
		case it.ID == t.ID && t.ID != "":
			r = 3
		case ok && c.ID != "" && (c.ID == t.Call || strings.HasPrefix(t.Call, c.ID+".")):
			r = 2
		case it.Seq > 0 && it.Seq <= t.Seq:
			r = 1
		}
		if r >= max(rank, 1) && (r == 1 || r > rank) {
			best, rank = i, r
		}
	}
	if best < 0 {
		return
	}
	q := place{t.Page, best, 0}
	p.pick(q)
	if c, ok := p.item(q).Data.(*view.Call); !p.unfolded(q) && (!ok || c.Diff() == "") {
		p.fold()
	}
	p.top = q
}

func set[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

// forget drops drawn lines.
func (p *Pager) forget(which func(place) bool) {
	for q := range p.lines {
		if which(q) {
			delete(p.lines, q)
		}
	}
}

func (p *Pager) resize(in input.Resize) {
	p.width, p.height = in.W, in.H
	p.lines = nil
}

// opened takes in how many pages there are. The last one that was there may have grown: it is
// read again.
func (p *Pager) opened(in Opened) []Action {
	var do []Action
	last := p.pages - 1
	p.asked = nil
	if last >= 0 && in.Pages > last && in.Edition == p.edition {
		set(&p.asked, last, true)
		do = append(do, Load{last})
	} else {
		p.loaded, p.lines, p.open = nil, nil, nil
		p.found, p.hits, p.seek = "", nil, 0
	}
	p.edition = in.Edition
	p.pages = in.Pages
	p.goEnd()
	return do
}

// goEnd shows the end of the session.
func (p *Pager) goEnd() {
	p.atEnd = true
	p.top = place{page: max(p.pages-1, 0)}
}

// wants asks for pages that are near and not there, and drops those that are far.
func (p *Pager) wants() []Action {
	var do []Action
	need := func(page int) {
		if page < 0 || page >= p.pages || p.loaded[page] != nil || p.asked[page] {
			return
		}
		set(&p.asked, page, true)
		do = append(do, Load{page})
	}
	need(p.top.page)
	need(p.top.page + 1)
	need(p.top.page - 1)
	if p.seek != 0 {
		need(p.hits[p.hit].Page)
	}
	far := func(page int) bool { return page < p.top.page-keptPages || page > p.top.page+keptPages }
	for page := range p.loaded {
		if far(page) {
			delete(p.loaded, page)
		}
	}
	p.forget(func(q place) bool { return far(q.page) })
	return do
}

// settle brings the screen into its limits after a change.
func (p *Pager) settle() {
	if p.seek != 0 {
		p.showHit()
	}
	if p.target != nil && p.loaded[p.target.Page] != nil {
		p.showTarget()
	}
	if p.atEnd && p.loaded[p.top.page] != nil {
		p.atEnd = false
		p.top = p.endTop()
		p.selected = p.lastVisible()
	}
	if n := len(p.loaded[p.top.page]); n > 0 && p.top.item >= n {
		p.top = place{p.top.page, n - 1, 0}
	}
	if n := len(p.show(p.top)); n > 0 && p.top.line >= n {
		p.top.line = n - 1
	}
	if end := p.endTop(); p.loaded[p.pages-1] != nil && end.before(p.top) {
		p.top = end
	}
	visible := p.visible()
	if len(visible) == 0 {
		return
	}
	first, last := visible[0].ofItem(), visible[len(visible)-1].ofItem()
	if p.selected.before(first) {
		p.pick(first)
	} else if last.before(p.selected) {
		p.pick(last)
	}
}

// pick selects an item.
func (p *Pager) pick(q place) {
	if q = q.ofItem(); q != p.selected {
		p.selected, p.copied = q, 0
	}
}

// rows is how many lines of the session the screen shows. The last one is the status.
func (p *Pager) rows() int { return max(p.height-1, 1) }

// step moves a place by one line. It reports whether there is one.
func (p *Pager) step(q place, down bool) (place, bool) {
	if down {
		if q.line+1 < len(p.show(q)) {
			q.line++
			return q, true
		}
		for n, ok := p.next(q, 1); ok; n, ok = p.next(n, 1) {
			if len(p.show(n)) > 0 {
				return n, true
			}
		}
		return q, false
	}
	if q.line > 0 {
		q.line--
		return q, true
	}
	for n, ok := p.next(q, -1); ok; n, ok = p.next(n, -1) {
		if l := len(p.show(n)); l > 0 {
			n.line = l - 1
			return n, true
		}
	}
	return q, false
}

// next returns the item after or before a place, if its page is there.
func (p *Pager) next(q place, by int) (place, bool) {
	q = place{q.page, q.item + by, 0}
	for q.item < 0 || q.item >= len(p.loaded[q.page]) {
		q.page += by
		items := p.loaded[q.page]
		if items == nil {
			return q, false
		}
		q.item = 0
		if by < 0 {
			q.item = len(items) - 1
		}
	}
	return q, true
}

// scroll moves the screen by so many lines.
func (p *Pager) scroll(by int) {
	for ; by != 0; by -= sign(by) {
		q, ok := p.step(p.top, by > 0)
		if !ok {
			return
		}
		p.top = q
	}
}

func sign(n int) int {
	if n < 0 {
		return -1
	}
	return 1
}

// endTop returns the first line on the screen that shows the end.
func (p *Pager) endTop() place {
	q := place{page: p.pages - 1}
	q.item = max(len(p.loaded[q.page])-1, 0)
	q.line = max(len(p.show(q))-1, 0)
	return p.back(q, p.rows()-1)
}

// back returns the place so many lines above another one.
func (p *Pager) back(q place, lines int) place {
	for range lines {
		before, ok := p.step(q, false)
		if !ok {
			break
		}
		q = before
	}
	return q
}

// visible returns the places of the lines on the screen.
func (p *Pager) visible() []place {
	q := p.top
	if len(p.show(q)) == 0 {
		var ok bool
		if q, ok = p.step(q, true); !ok {
			return nil
		}
	}
	out := []place{q}
	for len(out) < p.rows() {
		var ok bool
		if q, ok = p.step(q, true); !ok {
			break
		}
		out = append(out, q)
	}
	return out
}

func (p *Pager) lastVisible() place {
	visible := p.visible()
	if len(visible) == 0 {
		return place{}
	}
	return visible[len(visible)-1].ofItem()
}

// item returns the item that a place is in, or nil.
func (p *Pager) item(q place) *view.Item {
	if items := p.loaded[q.page]; q.item >= 0 && q.item < len(items) {
		return items[q.item]
	}
	return nil
}

// unfolded reports whether all of an item is shown.
func (p *Pager) unfolded(q place) bool { return p.open[q.ofItem()] != p.all }

// show returns the lines of the item that a place is in.
func (p *Pager) show(q place) []line {
	q = q.ofItem()
	it := p.item(q)
	if it == nil || p.width == 0 {
		return nil
	}
	lines, ok := p.lines[q]
	if !ok {
		lines = draw(it, p.textWidth(), p.unfolded(q))
		set(&p.lines, q, lines)
	}
	return lines
}
