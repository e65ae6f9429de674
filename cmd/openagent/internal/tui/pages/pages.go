// Package pages reads a recorded session in pages of items, so that a pager needs little
// memory for a session of any length.
//
//	b, err := pages.Open(ctx, store, id)
//	if err != nil {
//		return err
//	}
//	items, err := b.Page(ctx, b.Len()-1)
package pages

import (
	"context"
	"slices"
	"sort"
	"sync"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/pager"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/agentview"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
)

const (
	pageFacts = 200    // a page has more only until it can be cut
	maxFacts  = 2000   // and no more than these
	maxHits   = 10_000 // of a search
)

// A Book is a session in pages. It is safe for concurrent use.
type Book struct {
	store session.Store
	id    string

	mu      sync.Mutex
	heads   []head // of all facts
	pages   [][]int64
	edition int
}

// A head is what a Book keeps of a fact.
type head struct {
	seq, prev int64
	cut       bool // a page can begin with it
}

// Open reads once through a session. It fails as [session.Store].Read does.
func Open(ctx context.Context, store session.Store, id string) (*Book, error) {
	b := &Book{store: store, id: id}
	return b, b.Refresh(ctx)
}

// Refresh reads what was added to the session since.
func (b *Book) Refresh(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	after := int64(0)
	if n := len(b.heads); n > 0 {
		after = b.heads[n-1].seq
	}
	for e, err := range b.store.Read(ctx, b.id, after) {
		if err != nil {
			return err
		}
		b.heads = append(b.heads, head{e.Seq, e.Prev, canBegin(e.Data)})
	}
	was := b.pages
	b.pages = cut(path(b.heads))
	for i, p := range was { // a rewind changes pages; otherwise the last one grows
		if i >= len(b.pages) || len(p) > len(b.pages[i]) || !slices.Equal(p, b.pages[i][:len(p)]) || i < len(was)-1 && len(p) != len(b.pages[i]) {
			b.edition++
			break
		}
	}
	return nil
}

// canBegin reports whether a page can begin with a fact: no call of a tool is open then.
func canBegin(d event.Data) bool {
	switch d := d.(type) {
	case event.UserMessage:
		return d.Delivery == fact.AsPrompt
	case fact.ModelStart:
		return d.Call == "" && d.Compacts == ""
	}
	return false
}

// path returns the facts that lead to the last one: those that a rewind took away are not
// among them.
func path(heads []head) []head {
	var back []head
	for i := len(heads) - 1; i >= 0; {
		h := heads[i]
		back = append(back, h)
		i = sort.Search(i, func(j int) bool { return heads[j].seq > h.prev }) - 1
	}
	slices.Reverse(back)
	return back
}

// cut divides facts into pages.
func cut(heads []head) [][]int64 {
	var out [][]int64
	var page []int64
	for _, h := range heads {
		if len(page) >= maxFacts || len(page) >= pageFacts && h.cut {
			out = append(out, page)
			page = nil
		}
		page = append(page, h.seq)
	}
	if page != nil {
		out = append(out, page)
	}
	return out
}

// Opened says how many pages there are.
func (b *Book) Opened() pager.Opened {
	b.mu.Lock()
	defer b.mu.Unlock()
	return pager.Opened{Pages: len(b.pages), Edition: b.edition}
}

func (b *Book) facts() [][]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pages
}

// PageOf returns the page that has a fact, or the one before it.
func (b *Book) PageOf(seq int64) int {
	pages := b.facts()
	return max(sort.Search(len(pages), func(i int) bool { return pages[i][0] > seq })-1, 0)
}

// Page reads the items of a page. There are none beyond the last page.
func (b *Book) Page(ctx context.Context, n int) ([]*view.Item, error) {
	pages := b.facts()
	if n < 0 || n >= len(pages) {
		return nil, nil
	}
	var items []*view.Item
	err := b.read(ctx, pages[n:n+1], func(_ int, page []*view.Item) bool {
		items = page
		return true
	})
	return items, err
}

// Find returns the items that have a text, in order.
func (b *Book) Find(ctx context.Context, text string) ([]pager.Hit, error) {
	var hits []pager.Hit
	err := b.read(ctx, b.facts(), func(n int, items []*view.Item) bool {
		for i, it := range items {
			if pager.Has(it, text) {
				hits = append(hits, pager.Hit{Page: n, Item: i})
			}
		}
		return len(hits) < maxHits && ctx.Err() == nil
	})
	return hits, err
}

// read reads pages that follow each other, and shows the items of each.
func (b *Book) read(ctx context.Context, pages [][]int64, show func(n int, items []*view.Item) bool) error {
	n, at := 0, 0
	var state view.State
	for e, err := range b.store.Read(ctx, b.id, pages[0][0]-1) {
		if err != nil {
			return err
		}
		if e.Seq < pages[n][at] { // a rewind took it away
			continue
		}
		state.Apply(e)
		if at++; at < len(pages[n]) {
			continue
		}
		if err := agentview.Fill(ctx, b.store, b.id, &state); err != nil {
			return err
		}
		if !show(n, state.Items) {
			return ctx.Err()
		}
		if n, at = n+1, 0; n == len(pages) {
			return nil
		}
		state = view.State{}
	}
	return ctx.Err()
}
