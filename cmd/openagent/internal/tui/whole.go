package tui

import (
	"context"
	"errors"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/pager"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/pages"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/timeview"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
)

// A book is what a pager shows.
type book interface {
	Opened() pager.Opened
	Refresh(ctx context.Context) error
	Page(ctx context.Context, n int) ([]*view.Item, error)
	Find(ctx context.Context, text string) ([]pager.Hit, error)
	PageOf(seq int64) int
}

// Items are shown in a pager, from the first one on: see [Loop.Tell].
type Items struct{ List []*view.Item }

// A whole is the whole session, or a list of items, on the alternate screen.
type whole struct {
	pager  pager.Pager
	book   book // nil until it is open
	target *timeview.Jump
	ctx    context.Context
	stop   context.CancelFunc
	search context.CancelFunc // of the last search
}

// showWhole opens the pager, at an item or at the end.
func (l *Loop) showWhole(target *timeview.Jump) {
	store, id := l.recorded()
	if store == nil {
		return
	}
	w := &whole{target: target}
	w.ctx, w.stop = context.WithCancel(l.ctx)
	l.show(w)
	l.workFor(w.ctx, w, func(ctx context.Context) any {
		b, err := pages.Open(ctx, store, id)
		if errors.Is(err, session.ErrNotFound) {
			err = errors.New("nothing is recorded yet")
		}
		if err != nil {
			return pager.Failed{Text: err.Error()}
		}
		return b
	})
}

// showItems opens the pager for items.
func (l *Loop) showItems(in Items) {
	w := &whole{target: new(timeview.Jump)}
	if len(in.List) > 0 {
		w.target.Item = in.List[0].ID
	}
	w.ctx, w.stop = context.WithCancel(l.ctx)
	l.show(w)
	w.update(l, pages.List(in.List))
}

// work works for the pager in a goroutine.
func (w *whole) work(l *Loop, ctx context.Context, work func(context.Context) (pager.Input, error)) {
	l.workFor(ctx, w, func(ctx context.Context) any {
		in, err := work(ctx)
		if err != nil {
			return pager.Failed{Text: err.Error()}
		}
		return in
	})
}

func (w *whole) update(l *Loop, in any) {
	switch data := in.(type) {
	case book:
		w.book = data
		w.update(l, data.Opened())
		if t := w.target; t != nil {
			w.update(l, pager.Go{Page: data.PageOf(t.Seq), ID: t.Item, Call: t.Call, Seq: t.Seq})
		}
		return
	case input.Key:
		if w.book == nil && !leaves(data) {
			return
		}
	}
	for _, a := range w.pager.Update(in) {
		book := w.book
		switch a := a.(type) {
		case pager.Load:
			w.work(l, w.ctx, func(ctx context.Context) (pager.Input, error) {
				items, err := book.Page(ctx, a.Page)
				return pager.Loaded{Page: a.Page, Items: items}, err
			})
		case pager.Find:
			if w.search != nil {
				w.search()
			}
			var ctx context.Context
			ctx, w.search = context.WithCancel(w.ctx)
			w.work(l, ctx, func(ctx context.Context) (pager.Input, error) {
				hits, err := book.Find(ctx, a.Text)
				return pager.Found{Text: a.Text, Hits: hits}, err
			})
		case pager.Refresh:
			w.work(l, w.ctx, func(ctx context.Context) (pager.Input, error) {
				err := book.Refresh(ctx)
				return book.Opened(), err
			})
		case pager.Copy:
			l.complain("copying", l.Terminal.Copy(a.Text))
		case pager.Close:
			l.uncover()
			return
		}
	}
}

func (w *whole) grown(*Loop) {}

func (w *whole) draw(l *Loop, alert string) []styled.Row {
	w.update(l, pager.Alert{Text: alert})
	return w.pager.Draw()
}

func (w *whole) close() { w.stop() }

// leaves reports whether a key closes a pager that is being opened.
func leaves(k input.Key) bool {
	switch k.String() {
	case "q", "esc", "ctrl+c", "ctrl+o":
		return true
	}
	return false
}
