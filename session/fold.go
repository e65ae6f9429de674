package session

import (
	"encoding/json"

	"github.com/openagent-go/agent/event"
)

// A Summary computes the [Info] of a session from its facts, for authors of stores. Add
// each fact in order, from the first one on. Add costs little, so a store can keep a
// Summary beside each open session, and needs no second reading to list it.
//
// A store can also keep the JSON of a Summary, and Add the facts after it later. After an
// [event.Rewound] it has to Add all facts to a new Summary instead.
type Summary struct {
	Header Header // of the session
	Locked bool   // a program has the session open for writing
	// Waits reports whether the session of a sub-agent waits for a person. Nil: none does.
	Waits func(agent string) bool
	facts summary
	path  []node
}

// MarshalJSON returns the facts so far, without Header, Locked and Waits.
func (s *Summary) MarshalJSON() ([]byte, error) {
	if s.facts.progress.unknown {
		s.facts.progress = progressOn(s.path)
	}
	line := summaryLine{Version: version, Info: s.facts.info(), Progress: &s.facts.progress}
	line.Header, line.State = Header{}, ""
	return json.Marshal(line)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Summary) UnmarshalJSON(b []byte) error {
	var line summaryLine
	if err := json.Unmarshal(b, &line); err != nil {
		return err
	}
	s.facts, s.path = summary{Info: line.Info}, nil
	if line.Progress != nil {
		s.facts.progress = *line.Progress
	}
	return nil
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
// sub-agents without Waits: if one of them waits for a person, the session waits too.
func (s *Summary) Info() Info {
	s.facts.Header = s.Header
	if s.facts.progress.unknown {
		s.facts.progress = progressOn(s.path)
	}
	info := s.facts.info()
	info.State = s.facts.progress.state(func() bool { return s.Locked }, func(agent string) bool { return s.Waits != nil && s.Waits(agent) })
	if info.Facts == 0 {
		info.Updated = s.Header.Created
	}
	return info
}
