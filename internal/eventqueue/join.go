package eventqueue

import "github.com/openagent-go/agent/event"

// Join adds a signal to the one before it, if it continues that: another piece of the same text, or later
// progress of the same call, also within a sub-agent. It reports false if it does not. The text is copied
// each time: it is for few signals that wait a short time.
func Join(last *event.Event, e event.Event) bool {
	if last.Session != e.Session {
		return false
	}
	if continues(last.Data, e.Data) {
		last.Data = joined(last.Data, e.Data)
		return true
	}
	p, ok := last.Data.(event.AgentEvent)
	d, also := e.Data.(event.AgentEvent)
	if !ok || !also || p.Event == nil || d.Event == nil || p.Call != d.Call || p.ID != d.ID {
		return false
	}
	inner := *p.Event
	if !Join(&inner, *d.Event) {
		return false
	}
	p.Event = &inner
	last.Data = p
	return true
}

// continues reports whether one signal can stand for two.
func continues(last, next event.Data) bool {
	switch d := next.(type) {
	case event.TextDelta:
		p, ok := last.(event.TextDelta)
		return ok && p.Key == d.Key && !d.Restart
	case event.ThinkingDelta:
		p, ok := last.(event.ThinkingDelta)
		return ok && p.Key == d.Key
	case event.ToolInputDelta:
		p, ok := last.(event.ToolInputDelta)
		return ok && p.Key == d.Key && p.ID == d.ID
	case event.ToolProgress:
		p, ok := last.(event.ToolProgress)
		return ok && p.Call == d.Call && p.ID == d.ID && p.Phase == d.Phase
	}
	return false
}

// joined returns the signal that stands for two.
func joined(last, next event.Data) event.Data {
	if more, ok := textOf(next); ok {
		text, _ := textOf(last)
		return setText(last, text+more)
	}
	return next
}

// textOf returns the text of a piece. It reports false for other signals.
func textOf(d event.Data) (text string, ok bool) {
	switch d := d.(type) {
	case event.TextDelta:
		return d.Text, true
	case event.ThinkingDelta:
		return d.Text, true
	case event.ToolInputDelta:
		return d.Text, true
	}
	return "", false
}

// setText returns a piece with another text.
func setText(d event.Data, text string) event.Data {
	switch d := d.(type) {
	case event.TextDelta:
		d.Text = text
		return d
	case event.ThinkingDelta:
		d.Text = text
		return d
	case event.ToolInputDelta:
		d.Text = text
		return d
	}
	return d
}
