package agent

import (
	"reflect"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/watchers"
	"github.com/openagent-go/agent/session"
)

// An audience names those who may watch a session in this process, by their keys in package
// watchers. A key is nil if nobody can watch.
type audience struct {
	own   any // those who watch the session
	all   any // those who watch the agent
	above []ancestor
}

// An ancestor is a session above a sub-agent's. Those who watch it get the sub-agent's
// events as signals.
type ancestor struct {
	key any
	as  event.AgentEvent // of the agent one level below, without the event
	id  string
}

// audience returns the audience of the session.
func (s *Session) audience() *audience {
	to := &audience{own: sessionKey(s.store(), s.ID)}
	for link := s.definition().parentLink; link != nil && link.parent != nil; link = s.definition().parentLink {
		below := s.definition()
		s = link.parent
		to.above = append(to.above, ancestor{key: sessionKey(s.store(), s.ID), id: s.ID,
			as: event.AgentEvent{Call: link.call, ID: link.toolID, Agent: below.Name}})
	}
	to.all = agentKey(s.store())
	return to
}

// A sessionName is the key of a session in a store without files.
type sessionName struct {
	store session.Store
	id    string
}

// sessionKey returns the key of those who watch a session: its journal file, otherwise its
// name in its store. It is nil if Go cannot compare the store.
func sessionKey(store session.Store, id string) any {
	if journal := journalOf(store, id); journal != "" {
		return journal
	}
	if !reflect.ValueOf(store).Comparable() {
		return nil
	}
	return sessionName{store, id}
}

// agentKey returns the key of those who watch an agent with the given store.
func agentKey(store session.Store) any {
	key := sessionKey(store, "all")
	if name, ok := key.(sessionName); ok {
		key = name.store
	}
	if key == nil {
		return nil
	}
	return storeName{key}
}

// A storeName is the key of those who watch all sessions of a store.
type storeName struct{ store any }

// watches reports whether anyone watches.
func (to *audience) watches() bool {
	if len(watchers.Of(to.own)) > 0 || len(watchers.Of(to.all)) > 0 {
		return true
	}
	for _, a := range to.above {
		if len(watchers.Of(a.key)) > 0 {
			return true
		}
	}
	return false
}

// facts shows recorded facts.
func (to *audience) facts(events []event.Event) {
	for _, e := range events {
		to.put(e, "")
	}
}

// put shows an event. soFar is as in [driver.Host].
func (to *audience) put(e event.Event, soFar string) {
	watchers.Put(to.own, e, soFar)
	watchers.Put(to.all, e, soFar)
	for _, a := range to.above {
		inner := e
		a.as.Event = &inner
		e = event.Event{Session: a.id, Data: a.as}
		watchers.Put(a.key, e, soFar)
	}
}

// began tells those who watch the agent that a session begins.
func (to *audience) began(s *Session) {
	began := event.SessionBegan{Start: fact.StartNew}
	if s.state.Last > 0 {
		began.Start = fact.StartResume
	}
	if ref := s.definition().parentRef(); ref != nil {
		began.Parent, began.Call, began.Agent = ref.Session, ref.Call, ref.Name
	}
	watchers.Put(to.all, event.Event{Session: s.ID, Data: began}, "")
}

// publish shows facts that were recorded without a run.
func (s *Session) publish(facts ...event.Event) {
	if watchers.Any() {
		s.audience().facts(facts)
	}
}

// publishEnd tells those who watch the agent that the session is closed.
func (s *Session) publishEnd() {
	s.mu.Lock()
	tell := s.prompted && !s.told && watchers.Any()
	s.told = s.told || tell
	s.mu.Unlock()
	if tell {
		watchers.Put(s.audience().all, event.Event{Session: s.ID, Data: event.SessionEnded{}}, "")
	}
}
