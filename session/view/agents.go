package view

import (
	"strconv"

	"github.com/openagent-go/agent/event"
)

// agentStart adds a piece of work of an agent, or begins it again after a suspension.
func (s *State) agentStart(e event.Event, d event.AgentStart) {
	if it := s.agents[d.Key]; it != nil {
		a := it.Data.(*Agent)
		a.Start, a.End, it.Final = d, nil, false
		s.touchAgent(it)
		return
	}
	it := s.add(e, "agent/"+d.Key, &Agent{Start: d, View: s.viewOf(d.Session)})
	s.place(it)
}

// place puts an agent into the lists.
func (s *State) place(it *Item) {
	a := it.Data.(*Agent)
	put(&s.agents, a.Start.Key, it)
	put(&s.latest, a.Start.Session, it)
	s.Agents = append(s.Agents, it)
	if call := s.calls[a.Start.Call]; call != nil && !call.Final {
		a.call = call
		c := call.Data.(*Call)
		c.Items = append(c.Items, it)
		s.touch(call)
	} else if !a.Start.Background {
		s.show(it)
	}
}

// viewOf returns the view of an agent's session.
func (s *State) viewOf(session string) *State {
	v := s.views[session]
	if v == nil {
		v = new(State)
		if s.views == nil {
			s.views = map[string]*State{}
		}
		s.views[session] = v
	}
	return v
}

func (s *State) agentEvent(e event.Event, d event.AgentEvent) {
	if d.Event == nil {
		return
	}
	id := d.Event.Session
	it := s.latest[id]
	if it == nil {
		start := event.AgentStart{Key: "seen/" + strconv.Itoa(len(s.Agents)), Call: d.Call, Session: id, Agent: d.Agent}
		it = s.add(event.Event{Time: e.Time}, "agent/"+start.Key, &Agent{Start: start, View: s.viewOf(id)})
		s.place(it)
	}
	a := it.Data.(*Agent)
	was := a.View.Version
	a.View.Apply(*d.Event)
	if a.View.Version != was {
		s.touchAgent(it)
	}
}

// touchAgent marks an agent as changed, and the call that shows it.
func (s *State) touchAgent(it *Item) {
	s.touch(it)
	if call := it.Data.(*Agent).call; call != nil {
		s.changed(call)
	}
}

func (s *State) agentEnd(e event.Event, d event.AgentEnd) {
	s.spend(d.Usage, d.CostUSD)
	it := s.agents[d.Key]
	if it == nil || it.Data.(*Agent).End != nil {
		return
	}
	a := it.Data.(*Agent)
	a.End, it.Final = &d, true
	s.touchAgent(it)
	if a.Start.Background {
		s.notice(e, "agent "+d.Agent+" has ended: "+string(d.Reason))
	}
}
