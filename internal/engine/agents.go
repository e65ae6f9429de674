package engine

import (
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/order"
)

// Subagents are the agents below a session, see [State.Agents].
type Subagents struct {
	list   []event.AgentStart    // running, in the order in which they began
	worked map[string]assignment // pieces of work that have begun, by key
	waits  map[string]bool       // agents that wait for a decision, by the key of their work
	again  map[string]bool       // background agents that have continued since, by key
	late   []event.AgentEnd      // came after the end of a run: they count in the next one
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

// AtWork returns the running agents, in the order in which they began.
func (g *Subagents) AtWork() []event.AgentStart { return append([]event.AgentStart(nil), g.list...) }

// Worked reports whether a piece of an agent's work was begun, and whether its end is
// on record.
func (g *Subagents) Worked(key string) (begun, ended bool) {
	w, begun := g.worked[key]
	return begun, w.ended
}

// Worker returns the session of the agent that a piece of work was given to, "" if none
// was.
func (g *Subagents) Worker(key string) string { return g.worked[key].session }

// LastWork returns the piece of work that an agent began last, by its session or its name.
// It also returns the end of that work, with reason and message, nil if none is on record.
func (g *Subagents) LastWork(agent string) (at event.AgentStart, end *event.AgentEnd, ok bool) {
	var last assignment
	for key, w := range g.worked {
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

// Waits reports whether the agent with the given key waits for a decision.
func (g *Subagents) Waits(key string) bool { return g.waits[key] }

// Waiting returns the agents in the background that wait for a decision.
//
//go:noinline // called from many places: every program stays smaller
func (g *Subagents) Waiting() (list []event.AgentStart) {
	for _, a := range g.list {
		if a.Background && g.waits[a.Key] {
			list = append(list, a)
		}
	}
	return list
}

// workFor reports whether an agent is running for a call.
func (g *Subagents) workFor(call string) bool {
	return order.Any(len(g.list), func(i int) bool { return g.list[i].Call == call })
}

// turns is how many turns the running agents may have.
func (g *Subagents) turns() int {
	n := 0
	for i := range g.list {
		n += g.list[i].Turns
	}
	return n
}

// modelCalls is how many model calls the running agents may make.
func (g *Subagents) modelCalls() int {
	n := 0
	for i := range g.list {
		n += g.list[i].ModelCalls
	}
	return n
}

// atWork reports whether background agents are running that the run waits for:
// all, or only those that went on after a decision.
func (g *Subagents) atWork(all bool) bool {
	return order.Any(len(g.list), func(i int) bool {
		a := &g.list[i]
		return a.Background && !g.waits[a.Key] && (all || g.again[a.Key])
	})
}

// suspended takes in that an agent waits for a decision, and with it the call that has
// started it.
func (g *Subagents) suspended(f fact.AgentSuspended, calls *callList) bool {
	i := g.find(f.Key)
	if i < 0 || g.waits[f.Key] {
		return false
	}
	put(&g.waits, f.Key, true)
	if c := calls.find(f.Call); !g.list[i].Background && c != nil && c.phase == running {
		c.phase = parked
	}
	return true
}

func (g *Subagents) find(key string) int {
	return order.Find(len(g.list), func(i int) bool { return g.list[i].Key == key })
}

// goOn: the agents that waited for a decision go on.
func (g *Subagents) goOn() {
	for _, a := range g.Waiting() {
		put(&g.again, a.Key, true)
	}
	g.waits = nil
}

func (g *Subagents) started(f event.AgentStart) bool {
	if _, known := g.worked[f.Key]; known {
		return false
	}
	put(&g.worked, f.Key, assignment{session: f.Session, name: f.Agent, order: len(g.worked) + 1})
	g.list = append(g.list, f)
	return true
}

// ended applies the end of an agent. The result is the most that its unfinished calls can
// have cost.
func (g *Subagents) ended(f event.AgentEnd) (counts event.AgentEnd, ok bool) {
	i := g.find(f.Key)
	if i < 0 {
		return f, false
	}
	if f.Reason == event.Internal { // its usage is not known
		f.LostUSD = max(f.LostUSD, g.list[i].ReservedUSD)
	}
	w := g.worked[f.Key]
	w.ended, w.reason, w.message = true, f.Reason, f.Message
	g.worked[f.Key] = w
	g.list = append(g.list[:i], g.list[i+1:]...)
	delete(g.waits, f.Key)
	delete(g.again, f.Key)
	return f, true
}

// shareUSD divides the rest of a new limit among the running agents.
func (g *Subagents) shareUSD(left, limit float64) {
	g.list = g.AtWork()
	if limit <= 0 {
		return
	}
	left = max(0, left)
	sum := 0.0
	for i := range g.list {
		a := &g.list[i]
		if a.ReservedUSD == 0 {
			a.ReservedUSD = left / float64(len(g.list)+1)
		}
		sum = plus(sum, a.ReservedUSD)
	}
	for i := range g.list {
		if a := &g.list[i]; sum > left {
			a.ReservedUSD = amount(a.ReservedUSD * (left / sum))
		}
	}
}

// share is shareUSD for a number of something. The list must be the state's own.
func (g *Subagents) share(left, limit int, part func(*event.AgentStart) *int) {
	if limit <= 0 {
		return
	}
	left = max(0, left)
	sum := 0
	for i := range g.list {
		n := part(&g.list[i])
		if *n == 0 {
			*n = left / (len(g.list) + 1)
		}
		sum += *n
	}
	for i := range g.list {
		if n := part(&g.list[i]); sum > left {
			*n = *n * left / sum
		}
	}
}
