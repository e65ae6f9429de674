package session

import "github.com/openagent-go/agent/event"

// A Summary computes the [Info] of a session from its facts, for authors of stores. Add
// each fact in order, from the first one on. Add costs little, so a store can keep a
// Summary beside each open session, and needs no second reading to list it.
type Summary struct {
	Header Header // of the session
	facts  summary
}

// Add takes in the next fact.
func (s *Summary) Add(e event.Event) { s.facts.event(e) }

// Info returns the Info so far. Its Size is 0.
func (s *Summary) Info() Info {
	s.facts.Header = s.Header
	info := s.facts.info()
	if info.Facts == 0 {
		info.Updated = s.Header.Created
	}
	return info
}
