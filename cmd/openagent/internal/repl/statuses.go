package repl

import (
	"time"

	"github.com/openagent-go/agent/event"
)

// statuses says which status of a call a person should be shown: the first
// after a while, and then ever fewer.
type statuses struct {
	next map[string]time.Duration // by call: how long it must have run for the next
	last map[string]string
}

const firstStatus = 2 * time.Second

func newStatuses() *statuses {
	return &statuses{next: map[string]time.Duration{}, last: map[string]string{}}
}

// news returns the text to be shown, "" for nothing.
func (s *statuses) news(p event.ToolProgress) string {
	switch p.Phase {
	case event.ToolSucceeded, event.ToolFailed:
		delete(s.next, p.ID)
		delete(s.last, p.ID)
		return ""
	}
	text := p.Status.Text
	due := max(s.next[p.ID], firstStatus)
	if text == "" || text == s.last[p.ID] || p.Elapsed < due {
		return ""
	}
	s.next[p.ID], s.last[p.ID] = 2*p.Elapsed, text
	return text
}
