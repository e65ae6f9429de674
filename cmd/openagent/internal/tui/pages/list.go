package pages

import (
	"context"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/pager"
	"github.com/openagent-go/agent/session/view"
)

// A List is one page of items that does not grow.
type List []*view.Item

// Opened says that there is one page.
func (List) Opened() pager.Opened { return pager.Opened{Pages: 1} }

// Refresh does nothing.
func (List) Refresh(context.Context) error { return nil }

// PageOf returns the page.
func (List) PageOf(int64) int { return 0 }

// Page returns the items.
func (l List) Page(context.Context, int) ([]*view.Item, error) { return l, nil }

// Find returns the items that have a text.
func (l List) Find(_ context.Context, text string) ([]pager.Hit, error) {
	var hits []pager.Hit
	for i, it := range l {
		if pager.Has(it, text) {
			hits = append(hits, pager.Hit{Item: i})
		}
	}
	return hits, nil
}
