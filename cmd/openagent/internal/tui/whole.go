package tui

import (
	"context"
	"errors"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/pager"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/pages"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/session"
)

// A whole is the whole session on the alternate screen.
type whole struct {
	pager  pager.Pager
	book   *pages.Book // nil until it is open
	ctx    context.Context
	stop   context.CancelFunc
	search context.CancelFunc // of the last search
}

// forWhole is an input for the pager, from a goroutine that works for it.
type forWhole struct {
	whole *whole
	book  *pages.Book // that was opened, or nil
	input pager.Input
}

// showWhole opens the pager. The loop paints it until the person leaves it.
func (l *Loop) showWhole() {
	if l.Recorded == nil {
		return
	}
	store, id := l.Recorded()
	if store == nil {
		l.Tell(ui.Output{Lines: []ui.Line{{Kind: ui.DimLine, Text: "  this session is not recorded: there is nothing to page through"}}})
		return
	}
	w := &whole{}
	w.ctx, w.stop = context.WithCancel(l.ctx)
	l.whole = w
	l.updateWhole(input.Resize{W: l.Model.Width, H: l.Model.Height})
	l.forWhole(w.ctx, func(ctx context.Context) (*pages.Book, pager.Input, error) {
		b, err := pages.Open(ctx, store, id)
		if errors.Is(err, session.ErrNotFound) {
			err = errors.New("nothing is recorded yet")
		}
		if err != nil {
			return nil, nil, err
		}
		return b, b.Opened(), nil
	})
}

// forWhole works for the pager in a goroutine, which Run waits for.
func (l *Loop) forWhole(ctx context.Context, work func(context.Context) (*pages.Book, pager.Input, error)) {
	w := l.whole
	l.work.Go(func() {
		book, in, err := work(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			in = pager.Failed{Text: err.Error()}
		}
		l.Tell(forWhole{w, book, in})
	})
}

// updateWhole changes the pager and carries out the actions that follow.
func (l *Loop) updateWhole(in pager.Input) {
	w := l.whole
	for _, a := range w.pager.Update(in) {
		if l.whole != w { // it was left
			return
		}
		switch a := a.(type) {
		case pager.Load:
			book := w.book
			l.forWhole(w.ctx, func(ctx context.Context) (*pages.Book, pager.Input, error) {
				items, err := book.Page(ctx, a.Page)
				return nil, pager.Loaded{Page: a.Page, Items: items}, err
			})
		case pager.Find:
			if w.search != nil {
				w.search()
			}
			var ctx context.Context
			ctx, w.search = context.WithCancel(w.ctx)
			book := w.book
			l.forWhole(ctx, func(ctx context.Context) (*pages.Book, pager.Input, error) {
				hits, err := book.Find(ctx, a.Text)
				return nil, pager.Found{Text: a.Text, Hits: hits}, err
			})
		case pager.Refresh:
			book := w.book
			l.forWhole(w.ctx, func(ctx context.Context) (*pages.Book, pager.Input, error) {
				err := book.Refresh(ctx)
				return nil, book.Opened(), err
			})
		case pager.Copy:
			l.complain("copying", l.Terminal.Copy(a.Text))
		case pager.Close:
			l.closeWhole()
			return
		}
	}
}

// closeWhole returns to the conversation.
func (l *Loop) closeWhole() {
	l.whole.stop()
	l.whole = nil
	l.complain("leaving the alternate screen", l.Terminal.ClosePage())
	l.Terminal.Repaint()
	l.update(ui.Uncovered{})
}

// toWhole passes an input to the pager if it is open, and reports whether the model must not
// have it.
func (l *Loop) toWhole(data any) bool {
	if in, ok := data.(forWhole); ok {
		if in.whole == l.whole {
			if in.book != nil {
				l.whole.book = in.book
			}
			l.updateWhole(in.input)
		}
		return true
	}
	if l.whole == nil {
		return false
	}
	switch in := data.(type) {
	case input.Key:
		if l.whole.book != nil || leaves(in) {
			l.updateWhole(in)
		}
		return true
	case input.Paste:
		l.updateWhole(in)
		return true
	case input.Resize:
		l.updateWhole(in)
	}
	return false
}

// leaves reports whether a key closes a pager that is being opened.
func leaves(k input.Key) bool {
	switch k.String() {
	case "q", "esc", "ctrl+c", "ctrl+o":
		return true
	}
	return false
}

// paintWhole paints the pager.
func (l *Loop) paintWhole() error {
	alert := ""
	if len(l.Model.Cards) > 0 {
		alert = "a question waits for you: press q"
	}
	l.updateWhole(pager.Alert{Text: alert})
	var rows []string
	for _, r := range l.whole.pager.Draw() {
		rows = append(rows, l.Row(r))
	}
	return l.Terminal.Page(rows)
}
