package tui

import (
	"context"
	"errors"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/timeview"
	"github.com/openagent-go/agent/internal/agentview"
	"github.com/openagent-go/agent/internal/timeline"
	"github.com/openagent-go/agent/session"
)

// A times is the timeline of the session on the alternate screen.
type times struct {
	view    timeview.View
	store   session.Store
	id      string
	state   timeline.State // of the goroutine that reads, while one does
	reading bool
	again   bool // the session has changed since the reading began
	ctx     context.Context
	stop    context.CancelFunc
}

// The timeline is read again after this time at the earliest.
const timesPause = 500 * time.Millisecond

// timesRead brings the timeline, or says why not.
type timesRead struct {
	timeline timeline.Timeline
	err      error
}

// showTimes opens the timeline.
func (l *Loop) showTimes() {
	store, id := l.recorded()
	if store == nil {
		return
	}
	t := &times{store: store, id: id}
	t.ctx, t.stop = context.WithCancel(l.ctx)
	l.show(t)
	t.read(l, 0)
}

// read reads what was added to the session, after a pause.
func (t *times) read(l *Loop, pause time.Duration) {
	t.reading, t.again = true, false
	l.workFor(t.ctx, t, func(ctx context.Context) any {
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		err := agentview.ReadTimeline(ctx, t.store, t.id, &t.state)
		if errors.Is(err, session.ErrNotFound) { // nothing is recorded yet
			err = nil
		}
		return timesRead{t.state.Timeline(time.Now()), err}
	})
}

func (t *times) update(l *Loop, in any) {
	if read, ok := in.(timesRead); ok {
		t.reading = false
		if read.err != nil {
			t.view.Update(timeview.Failed{Text: "reading the session: " + read.err.Error()})
			return
		}
		t.view.Update(timeview.Opened{Timeline: read.timeline, Zone: time.Local})
		if t.again || l.Model.Running {
			t.read(l, timesPause)
		}
		return
	}
	for _, a := range t.view.Update(in) {
		switch a := a.(type) {
		case timeview.Jump:
			l.showWhole(&a)
		case timeview.Close:
			l.uncover()
			return
		}
	}
}

// grown reads the session again. Events of a run come often: they are read together.
func (t *times) grown(l *Loop) {
	if t.reading {
		t.again = true
		return
	}
	t.read(l, timesPause)
}

func (t *times) draw(l *Loop, alert string) []styled.Row {
	t.view.Update(timeview.Alert{Text: alert})
	return t.view.Draw()
}

func (t *times) close() { t.stop() }
