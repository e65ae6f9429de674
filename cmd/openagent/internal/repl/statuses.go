package repl

import (
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
)

// statuses selects the status updates of a call to show: the first after a delay, then fewer and
// fewer.
type statuses struct {
	next map[string]time.Duration // by call: how long the call must run before the next update
	last map[string]string
}

const firstStatus = 2 * time.Second

func newStatuses() *statuses {
	return &statuses{next: map[string]time.Duration{}, last: map[string]string{}}
}

// news returns the text to show, or "".
func (s *statuses) news(p event.ToolProgress) string {
	switch p.Phase {
	case fact.ToolSucceeded, fact.ToolFailed:
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
