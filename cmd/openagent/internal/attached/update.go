package attached

import (
	"context"
	"fmt"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/remote"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
)

// update shows what the server tells. One goroutine calls it.
func (v *View) update(ctx context.Context, u remote.Update) {
	switch u := u.(type) {
	case event.Event:
		v.event(ctx, u)
	case remote.State:
		v.state(ctx, u)
	case remote.Lost:
		v.broke(ctx, u)
	}
	if v.c.Newer() && !v.outdated {
		v.outdated = true
		v.say(ui.WarnLine, "! the server is newer than this program: some of what happens is not shown here; update openagent")
	}
}

// event shows an event.
func (v *View) event(ctx context.Context, e event.Event) {
	v.flight.piece(e)
	switch d := e.Data.(type) {
	case event.UserMessage:
		if d.Delivery == fact.AsPrompt {
			v.numbers([]string{d.ID})
			v.begin()
		}
	case event.Resumed:
		v.begin()
	case fact.Delivered:
		if got := v.numbers(d.IDs); len(got) > 0 {
			v.post(ui.Delivered{Numbers: got})
		}
	case fact.Stopped:
		if back := v.numbers(d.Cleared); len(back) > 0 {
			v.post(ui.Returned{Numbers: back})
		}
	case event.ModeChanged:
		v.mu.Lock()
		v.mode = string(d.Mode)
		v.mu.Unlock()
	case fact.Answered:
		v.answeredBy(d)
	}
	v.post(e)
	if touchesQuestions(e) {
		v.work.Go(func() { v.questions(ctx) })
	}
	if d, ok := e.Data.(event.RunEnd); ok {
		v.flight = inflight{}
		v.running = false
		done := ui.Done{Stopped: d.Reason == event.Interrupted}
		switch d.Reason {
		case event.Completed, event.ToolEnded, event.Interrupted:
		default:
			done.Failed = true
		}
		v.post(done)
	}
}

// begin shows that a run has begun.
func (v *View) begin() {
	if !v.running {
		v.running = true
		v.post(ui.Started{})
	}
}

// state brings the screen to what is under way.
func (v *View) state(ctx context.Context, s remote.State) {
	if v.lost {
		v.lost = false
		v.trouble(nil)
		v.say(ui.DimLine, "  connected again")
	}
	switch {
	case s.Running:
		v.begin()
	case v.running:
		v.running = false
		v.post(ui.Done{Failed: true})
		v.say(ui.WarnLine, "! the run was cut short; /resume continues it")
	}
	for _, e := range s.Signals {
		if e, news := v.flight.whole(e); news {
			v.post(e)
		}
	}
	v.work.Go(func() { v.questions(ctx) })
}

// broke says that the connection is lost, and when the next try is.
func (v *View) broke(ctx context.Context, l remote.Lost) {
	if !v.lost {
		v.lost = true
		v.say(ui.WarnLine, "! connection lost: "+v.h.OneLine(l.Err.Error()))
	}
	ctx, cancel := context.WithCancel(ctx)
	v.trouble(cancel)
	v.work.Go(func() {
		for left := l.Wait; left > 0; left -= time.Second {
			v.post(ui.Trouble{Text: fmt.Sprintf("connection lost, trying again in %d s", left/time.Second)})
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
			}
		}
		if ctx.Err() == nil {
			v.post(ui.Trouble{Text: "connecting …"})
		}
	})
}

// trouble ends the countdown to a try, and begins another one; nil: the connection works.
func (v *View) trouble(cancel func()) {
	v.mu.Lock()
	before := v.trial
	v.trial = cancel
	v.mu.Unlock()
	if before != nil {
		before()
	}
	if cancel == nil {
		v.post(ui.Trouble{})
	}
}

// An inflight counts the bytes that were shown of texts that are not on record yet.
type inflight map[string]int

// piece takes a signal in, which adds to what was shown.
func (f inflight) piece(e event.Event) {
	if key, text := unfinished(e); text != nil {
		f[key] += len(*text)
	}
}

// whole returns what is new in a signal that has all of its text so far, as after a broken
// connection. It reports false if nothing is.
func (f inflight) whole(e event.Event) (event.Event, bool) {
	switch d := e.Data.(type) {
	case event.AgentEvent:
		if d.Event == nil {
			return e, true
		}
		inner, news := f.whole(*d.Event)
		d.Event = &inner
		e.Data = d
		return e, news
	case event.ThinkingDelta:
		d.Text = f.rest(e, d.Text)
		e.Data = d
		return e, d.Text != ""
	case event.ToolInputDelta:
		d.Text = f.rest(e, d.Text)
		e.Data = d
		return e, d.Text != ""
	}
	return e, true
}

// rest is the part of a text that was not shown.
func (f inflight) rest(e event.Event, text string) string {
	key, _ := unfinished(e)
	shown := f[key]
	if shown >= len(text) {
		return ""
	}
	f[key] = len(text)
	return text[shown:]
}

// unfinished returns the key of a text that comes in pieces and has no restart, and the piece; nil:
// the event has none.
func unfinished(e event.Event) (key string, text *string) {
	switch d := e.Data.(type) {
	case event.AgentEvent:
		if d.Event != nil {
			return unfinished(*d.Event)
		}
	case event.ThinkingDelta:
		return "thinking " + e.Session + " " + d.Key, &d.Text
	case event.ToolInputDelta:
		return "input " + e.Session + " " + d.Key + " " + d.ID, &d.Text
	}
	return "", nil
}

// touchesQuestions reports whether an event may open or close questions.
func touchesQuestions(e event.Event) bool {
	switch d := e.Data.(type) {
	case event.PermissionRequest, event.UserQuestion, fact.Answered, event.ToolStart, event.ToolResult, event.AgentEnd, event.RunEnd, event.Rewound:
		return true
	case event.AgentEvent:
		return d.Event != nil && touchesQuestions(*d.Event)
	}
	return false
}
