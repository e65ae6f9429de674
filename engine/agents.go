package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/openagent-go/agent/event"
)

// AtWork returns the agents that are at work beneath the session, in the order in
// which they began.
func (s *State) AtWork() []event.AgentStart { return slices.Clone(s.agents) }

// Worked reports whether a piece of an agent's work was begun, and whether its end is
// on record.
func (s *State) Worked(key string) (begun, ended bool) {
	w, begun := s.worked[key]
	return begun, w.ended
}

// Worker returns the session of the agent that a piece of work was given to, "" if none
// was.
func (s *State) Worker(key string) string { return s.worked[key].session }

// LastWork returns the piece of work that an agent began last, by its session or its name,
// and its end, nil while none is on record. Of the end it has the reason and the message.
func (s *State) LastWork(agent string) (at event.AgentStart, end *event.AgentEnd, ok bool) {
	var last assignment
	for key, w := range s.worked {
		if (w.session == agent || w.name == agent) && w.order > last.order {
			last, ok = w, true
			at = event.AgentStart{Key: key, Session: w.session, Agent: w.name}
		}
	}
	if last.ended {
		end = &event.AgentEnd{Key: at.Key, Session: at.Session, Agent: at.Agent, Reason: last.reason, Message: last.message}
	}
	return at, end, ok
}

// An assignment is work of an agent.
type assignment struct {
	session string // the agent's
	name    string // the agent's
	order   int    // in which the pieces of work began, from 1
	ended   bool
	reason  event.EndReason
	message string
}

// Share returns what an agent that is started by an open call may use of the budget at
// a time: what is left, divided among the calls of the same tool that have no result yet
// and the run itself; of the time, all that is left. Zero is no limit; ok is false when
// nothing is left.
func (s *State) Share(call string, now time.Time) (share event.Limits, ok bool) {
	sharers := 1 + s.hungry(call)
	limits := s.cfg.Limits
	if l := limits.Turns; l > 0 {
		if share.Turns = (l - s.turnsOfTree()) / sharers; share.Turns < 1 {
			return share, false
		}
	}
	if l := limits.ModelCalls; l > 0 {
		if share.ModelCalls = (l - s.run.modelCalls - s.lent()) / sharers; share.ModelCalls < 1 {
			return share, false
		}
	}
	if l := limits.USD; l > 0 {
		if share.USD = (l - s.run.cost - s.run.lost - s.reserved()) / float64(sharers); share.USD <= 0 {
			return share, false
		}
	}
	if l := limits.Time; l > 0 {
		if share.Time = s.run.began.Add(l).Sub(now); share.Time <= 0 {
			return share, false
		}
	}
	return share, true
}

// turnsOfTree counts the turns of the run and of the agents below it, with those that
// agents at work may still have.
func (s *State) turnsOfTree() int {
	n := s.run.turns + s.run.below
	for i := range s.agents {
		n += s.agents[i].Turns
	}
	return n
}

// hungry counts the open calls of a call's tool for which no agent is at work, the
// call itself included.
func (s *State) hungry(id string) int {
	n := 1
	c := s.find(id)
	if c == nil {
		return n
	}
	for i := range s.calls {
		o := &s.calls[i]
		fed := slices.ContainsFunc(s.agents, func(a event.AgentStart) bool { return a.Call == o.id })
		if o.id != id && o.name == c.name && o.phase <= running && !fed {
			n++
		}
	}
	return n
}

// lent is how many model calls the agents at work may make.
func (s *State) lent() int {
	n := 0
	for i := range s.agents {
		n += s.agents[i].ModelCalls
	}
	return n
}

// awaits reports whether the run's end has to wait for agents in the background.
func (s *State) awaits() bool {
	return s.need.reason == event.Completed && s.atWork()
}

// atWork reports whether agents in the background are at work that the run waits for.
func (s *State) atWork() bool {
	return slices.ContainsFunc(s.agents, func(a event.AgentStart) bool {
		return a.Background && !s.waits[a.Key] && (s.cfg.Awaits || s.again[a.Key])
	})
}

// Waiting returns the agents in the background that wait for a decision.
func (s *State) Waiting() (list []event.AgentStart) {
	for _, a := range s.agents {
		if a.Background && s.waits[a.Key] {
			list = append(list, a)
		}
	}
	return list
}

// Repeatable reports whether an open call can be made again without doing again what it
// has done.
func (s *State) Repeatable(id string) bool {
	c := s.find(id)
	return c != nil && (c.class.ReadOnly || c.spec.Idempotent)
}

func (s *State) agentSuspended(f event.AgentSuspended) bool {
	i := slices.IndexFunc(s.agents, func(a event.AgentStart) bool { return a.Key == f.Key })
	if i < 0 || s.waits[f.Key] {
		return false
	}
	if s.waits == nil {
		s.waits = map[string]bool{}
	}
	s.waits[f.Key] = true
	if c := s.find(f.Call); !s.agents[i].Background && c != nil && c.phase == running {
		c.phase = parked
	}
	return true
}

// agentsGoOn: the agents that waited for a decision go on.
func (s *State) agentsGoOn() {
	for _, a := range s.Waiting() {
		if s.again == nil {
			s.again = map[string]bool{}
		}
		s.again[a.Key] = true
	}
	s.waits = nil
}

func (s *State) agentStart(f event.AgentStart) bool {
	if _, known := s.worked[f.Key]; known {
		return false
	}
	if s.worked == nil {
		s.worked = map[string]assignment{}
	}
	s.worked[f.Key] = assignment{session: f.Session, name: f.Agent, order: len(s.worked) + 1}
	s.agents = append(s.agents, f)
	return true
}

func (s *State) agentEnd(f event.AgentEnd) bool {
	i := slices.IndexFunc(s.agents, func(a event.AgentStart) bool { return a.Key == f.Key })
	if i < 0 {
		return false
	}
	if f.Reason == event.Internal { // what it has used is not known
		f.LostUSD = max(f.LostUSD, s.agents[i].ReservedUSD)
	}
	w := s.worked[f.Key]
	w.ended, w.reason, w.message = true, f.Reason, f.Message
	s.worked[f.Key] = w
	s.agents = slices.Delete(s.agents, i, i+1)
	delete(s.waits, f.Key)
	delete(s.again, f.Key)
	if s.open {
		s.settleAgent(f)
	} else {
		s.lateSubagentEnds = append(s.lateSubagentEnds, f)
	}
	return true
}

// settleOwed counts, in a run that begins, what ended after the one before it.
func (s *State) settleOwed() {
	for _, f := range s.lateSubagentEnds {
		s.settleAgent(f)
	}
	s.lateSubagentEnds = nil
}

// settleAgent counts what an agent has used.
func (s *State) settleAgent(f event.AgentEnd) {
	for _, model := range slices.Sorted(maps.Keys(f.Models)) {
		s.spend(model, f.Models[model].Usage, f.Models[model].CostUSD)
	}
	s.lose(f.LostUSD)
	s.run.modelCalls += f.ModelCalls
	s.run.below += f.Turns + f.AgentTurns
	sum, again := s.run.agents[f.Agent]
	sum.Usage = sum.Usage.Add(f.Usage)
	switch {
	case !again || f.CostUSD == nil:
		sum.CostUSD = f.CostUSD
	case sum.CostUSD != nil:
		sum.CostUSD = new(plus(*sum.CostUSD, *f.CostUSD))
	}
	put(&s.run.agents, f.Agent, sum)
}

// Waits reports whether a call of the last answer has no result yet.
func (s *State) Waits(call string) bool {
	c := s.find(call)
	return c != nil && c.phase != settled
}
