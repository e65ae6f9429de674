package session

import "github.com/openagent-go/agent/event"

// A Summary computes the [Info] of a session from its facts, for authors of stores. Add
// each fact in order, from the first one on. Add costs little, so a store can keep a
// Summary beside each open session, and needs no second reading to list it.
type Summary struct {
	Header Header // of the session
	facts  summary
	path   []node
}

// Add takes in the next fact.
func (s *Summary) Add(e event.Event) {
	s.facts.event(e)
	n := node{prev: e.Prev}
	if told, ok := stepOf(e.Data); ok {
		n.step = &told
	}
	s.path = append(s.path, n)
}

// Info returns the Info so far. Its Size is 0. Its State is idle, waiting or unfinished. A
// Summary does not know locks and other sessions: the store turns unfinished into running
// while the session is open for writing, and idle or unfinished into waiting while a
// sub-agent waits.
func (s *Summary) Info() Info {
	s.facts.Header = s.Header
	if s.facts.progress.unknown {
		s.facts.progress = progressOn(s.path)
	}
	info := s.facts.info()
	no := func(string) bool { return false }
	info.State = s.facts.progress.state(func() bool { return false }, no)
	if info.Facts == 0 {
		info.Updated = s.Header.Created
	}
	return info
}
