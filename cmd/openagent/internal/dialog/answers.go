package dialog

import (
	"context"
	"sync"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
)

// answers carries out the actions of a picker. Its fields are read when work has ended.
type answers struct {
	work   sync.WaitGroup
	picked string
	ok     bool
}

func (w *answers) act(ctx context.Context, a ui.Action, work Work, tell func(any)) {
	w.work.Go(func() {
		done := work == nil || work(ctx, a)
		if p, is := a.(ui.Picked); is && done {
			w.picked, w.ok = p.Value, true
			tell(ui.Quit{})
		}
	})
}
