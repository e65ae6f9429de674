package driver

import (
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
)

// Shown returns what is under way, as the signals that an observer would have got: the text of each
// answer so far, the progress of each call, and the open questions. The caller holds the token.
func (r *Run) Shown() []event.Event {
	var out []event.Event
	for _, f := range r.pending {
		f.ctx.shown.mu.Lock()
		text, signal := f.ctx.shown.text, f.ctx.shown.signal
		f.ctx.shown.mu.Unlock()
		if text != "" {
			out = append(out, r.signal(event.TextDelta{Key: f.key(), Text: text, Restart: true}, nil))
		}
		if signal != nil && isOpen(f.input.Effect, signal) {
			out = append(out, r.signal(signal, f.ctx.call))
		}
	}
	return out
}

func (r *Run) signal(d event.Data, call *event.Call) event.Event {
	return event.Event{Session: r.x.Session, Time: time.Now().UTC(), Data: d, Call: call}
}

// isOpen reports whether the last signal of a pending effect is about what it does now: a question
// that a tool has asked meanwhile may be answered.
func isOpen(e engine.Effect, last event.Signal) bool {
	switch last.(type) {
	case event.UserQuestion:
		_, asks := e.(engine.AskPerson)
		return asks
	case event.PermissionRequest:
		_, runs := e.(engine.RunTool)
		return !runs
	}
	return true
}
