package session

import "github.com/openagent-go/agent/event"

// A Summary computes the [Info] of a session from its facts, for authors of stores. Add
// each fact in order, from the first one on. Add costs little, so a store can keep a
// Summary beside each open session, and needs no second reading to list it.
type Summary struct {
	Header Header // of the session
	Locked bool   // a program has the session open for writing
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

// Info returns the Info so far. Its Size is 0. Its State does not know the sessions of
// sub-agents: if one of them waits for a person, the session waits too.
func (s *Summary) Info() Info {
	s.facts.Header = s.Header
	if s.facts.progress.unknown {
		s.facts.progress = progressOn(s.path)
	}
	info := s.facts.info()
	info.State = s.facts.progress.state(func() bool { return s.Locked }, func(string) bool { return false })
	if info.Facts == 0 {
		info.Updated = s.Header.Created
	}
	return info
}
