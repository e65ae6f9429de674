package session

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/order"
	"github.com/openagent-go/agent/permission"
)

// A State says what a session does, see [Info].
type State string

const (
	// StateIdle: its last run has ended, or there was none.
	StateIdle State = "idle"
	// StateRunning: a run is open, and a program holds the session's lock.
	StateRunning State = "running"
	// StateUnfinished: a run has no end, and no program holds the lock. Or a suspended run has
	// all its answers. Resuming the session continues it.
	StateUnfinished State = "unfinished"
	// StateWaiting: a question of the session or of one of its sub-agents waits for a person.
	// The run is suspended, interrupted, or asks right now. [Waiting] lists the questions. A
	// question that has expired does not count: Resume denies its call.
	StateWaiting State = "waiting"
)

// A progress is how far the last run of a session has come, after some of its facts.
type progress struct {
	Open      bool     `json:"open,omitempty"`      // a run has no end
	Suspended bool     `json:"suspended,omitempty"` // its end says that it goes on
	Asking    []string `json:"asking,omitempty"`    // calls that wait for a person
	// Expires says when questions end, by call. Questions that are not in it have no end.
	Expires map[string]time.Time `json:"expires,omitempty"`
	Agents  []atWork             `json:"agents,omitempty"` // sub-agents without an end
	unknown bool                 // the conversation was rewound: all facts have to be looked at
}

// An atWork is a piece of work of a sub-agent.
type atWork struct {
	Key     string `json:"key"`
	Session string `json:"session"`
	Agent   string `json:"agent"`
}

// A step is what a fact says about the progress. The members have the names that they have
// in the facts.
type step struct {
	typ                                string
	Delivery                           event.Delivery
	Reason                             event.EndReason
	Key, Call, Session, Agent, Invalid string
	Decision                           struct {
		Behavior permission.Behavior
		Expires  time.Time
	}
	Result struct{ Questions []json.RawMessage }
}

// apply takes in a step.
func (p *progress) apply(s step) {
	switch s.typ {
	case typeUser:
		p.Open = p.Open || s.Delivery == fact.AsPrompt
	case typeCompaction, typeResumed:
		p.Open, p.Suspended = true, false
	case typeStopped:
		if s.Reason != event.Suspended {
			p.Asking, p.Expires = nil, nil
		}
	case typeAuthorized:
		if s.Invalid == "" && asks(s.Decision.Behavior) {
			p.ask(s.Call)
			p.expire(s.Call, s.Decision.Expires)
		}
	case typeAnswered:
		if s.Decision.Behavior != permission.Deferred {
			p.settle(s.Call)
		} else if slices.Contains(p.Asking, s.Call) {
			p.expire(s.Call, s.Decision.Expires)
		}
	case typeDone:
		if len(s.Result.Questions) > 0 {
			p.ask(s.Call)
		}
	case typeAmended, typeResult:
		p.settle(s.Call)
	case typeAgent:
		p.Agents = append(p.Agents, atWork{s.Key, s.Session, s.Agent})
	case typeAgentWaits: // an agent that outlasts the run; after others the run ends too
		p.Suspended = true
	case typeAgentEnd:
		if i := order.Find(len(p.Agents), func(i int) bool { return p.Agents[i].Key == s.Key }); i >= 0 {
			p.Agents = append(p.Agents[:i], p.Agents[i+1:]...)
		}
	case typeRunEnd:
		p.Open, p.Suspended = false, s.Reason == event.Suspended
		if !p.Suspended {
			p.Asking, p.Expires = nil, nil
		}
	case typeRewound:
		p.unknown = true
	}
}

func asks(b permission.Behavior) bool { return b == permission.Asked || b == permission.Deferred }

func (p *progress) ask(call string) {
	p.settle(call) // an approval that has ended is asked for again
	p.Asking = append(p.Asking, call)
}

func (p *progress) settle(call string) {
	p.Asking = slices.DeleteFunc(p.Asking, func(c string) bool { return c == call })
	delete(p.Expires, call)
}

// expire notes when a question ends, unless that is never.
func (p *progress) expire(call string, at time.Time) {
	if at.IsZero() {
		return
	}
	if p.Expires == nil {
		p.Expires = map[string]time.Time{}
	}
	p.Expires[call] = at
}

// waiting returns the calls that a person can still decide about.
func (p *progress) waiting(now time.Time) (calls []string) {
	for _, call := range p.Asking {
		if end := p.Expires[call]; end.IsZero() || now.Before(end) {
			calls = append(calls, call)
		}
	}
	return calls
}

// The names of the facts that matter here.
var (
	typeCompaction = event.Type(fact.CompactionRequested{})
	typeResumed    = event.Type(event.Resumed{})
	typeStopped    = event.Type(fact.Stopped{})
	typeAuthorized = event.Type(fact.Authorized{})
	typeAnswered   = event.Type(fact.Answered{})
	typeDone       = event.Type(fact.ToolDone{})
	typeAmended    = event.Type(fact.ToolAmended{})
	typeResult     = event.Type(event.ToolResult{})
	typeAgentEnd   = event.Type(event.AgentEnd{})
	typeAgentWaits = event.Type(fact.AgentSuspended{})
	typeRunEnd     = event.Type(event.RunEnd{})
	typeRewound    = event.Type(event.Rewound{})
)

// event takes in the next fact.
func (p *progress) event(e event.Event) {
	if s, ok := stepOf(e.Data); ok {
		p.apply(s)
	}
}

// stepOf returns what a fact says about the progress. ok is false if that is nothing.
func stepOf(d event.Data) (s step, ok bool) {
	switch d := d.(type) {
	case event.UserMessage:
		s.typ, s.Delivery = typeUser, d.Delivery
	case fact.CompactionRequested:
		s.typ = typeCompaction
	case event.Resumed:
		s.typ = typeResumed
	case fact.Stopped:
		s.typ, s.Reason = typeStopped, d.Reason
	case fact.Authorized:
		s.typ, s.Call, s.Invalid, s.Decision.Behavior, s.Decision.Expires = typeAuthorized, d.Call, d.Invalid, d.Decision.Behavior, d.Decision.Expires
	case fact.Answered:
		s.typ, s.Call, s.Decision.Behavior, s.Decision.Expires = typeAnswered, d.Call, d.Decision.Behavior, d.Decision.Expires
	case fact.ToolDone:
		s.typ, s.Call, s.Result.Questions = typeDone, d.Call, make([]json.RawMessage, len(d.Result.Questions))
	case fact.ToolAmended:
		s.typ, s.Call = typeAmended, d.Call
	case event.ToolResult:
		s.typ, s.Call = typeResult, d.Call
	case event.AgentStart:
		s.typ, s.Key, s.Session, s.Agent = typeAgent, d.Key, d.Session, d.Agent
	case fact.AgentSuspended:
		s.typ = typeAgentWaits
	case event.AgentEnd:
		s.typ, s.Key = typeAgentEnd, d.Key
	case event.RunEnd:
		s.typ, s.Reason = typeRunEnd, d.Reason
	case event.Rewound:
		s.typ = typeRewound
	default:
		return s, false
	}
	return s, true
}

// record takes in the next fact as it is stored. It looks into few facts only.
func (p *progress) record(r *record) {
	if p.matters(r) {
		p.apply(stored(r))
	}
}

// matters reports whether a fact can change the progress.
func (p *progress) matters(r *record) bool {
	switch r.Type {
	case typeUser:
		return !p.Open
	case typeAmended, typeResult:
		return len(p.Asking) > 0
	}
	return tells(r)
}

// tells reports whether a fact can say anything about the progress.
func tells(r *record) bool {
	switch r.Type {
	case typeAuthorized:
		return bytes.Contains(r.Data, []byte(`"behavior":"ask"`)) || bytes.Contains(r.Data, []byte(`"behavior":"defer"`))
	case typeDone:
		return bytes.Contains(r.Data, []byte(`"questions":[`))
	case typeUser, typeCompaction, typeResumed, typeStopped, typeAnswered, typeAmended, typeResult, typeAgent, typeAgentWaits, typeAgentEnd, typeRunEnd, typeRewound:
		return true
	}
	return false
}

// stored returns what a stored fact says about the progress.
func stored(r *record) step {
	var s step
	_ = json.Unmarshal(r.Data, &s) // a fact that cannot be read says nothing
	s.typ = r.Type
	return s
}

// A node is a fact, as far as the progress needs it.
type node struct {
	prev int64
	step *step // nil: it says nothing
}

// progressOn returns the progress after all facts, by those on the path to the last one. Fact
// number seq is at seq-1.
func progressOn(all []node) progress {
	var path []*step
	for seq := int64(len(all)); seq > 0; seq = all[seq-1].prev {
		if s := all[seq-1].step; s != nil && s.typ != typeRewound {
			path = append(path, s)
		}
	}
	var p progress
	for _, s := range slices.Backward(path) {
		p.apply(*s)
	}
	return p
}

// readProgress returns the progress after all facts of a journal.
func readProgress(s *scanner, id string) (progress, error) {
	var all []node
	_, err := s.header(id)
	for err == nil {
		var r record
		if r, err = s.record(); err == nil {
			n := node{prev: r.Prev}
			if tells(&r) {
				n.step = new(stored(&r))
			}
			all = append(all, n)
		}
	}
	if err := ignoreEOF(err); err != nil {
		return progress{}, err
	}
	return progressOn(all), nil
}

// state returns the state of a session. held reports whether a program holds its lock, and
// waits whether a sub-agent waits for a person.
func (p *progress) state(held func() bool, waits func(agent string) bool) State {
	switch {
	case len(p.waiting(time.Now())) > 0, slices.ContainsFunc(p.Agents, func(a atWork) bool { return CheckID(a.Session) == nil && waits(a.Session) }):
		return StateWaiting
	case p.Open && held():
		return StateRunning
	case p.Open || p.Suspended:
		return StateUnfinished
	}
	return StateIdle
}
