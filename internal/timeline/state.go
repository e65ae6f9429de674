package timeline

import (
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
)

// A State is what the facts of a session say about time. The zero State is a session without
// facts. A State is not safe for concurrent use.
type State struct {
	last    int64 // the fact that was applied last
	at      time.Time
	rewinds []rewind

	runs    []*run
	spans   []*Span
	calls   map[string]call
	models  map[string]*Span // that are open, by key
	tools   map[string]*Span // the latest of a call
	asked   map[string]*Span // that are open, by call
	waiting *Span            // for the next try of a model call

	agents []*Agent
	works  map[string]*run // of agents, by key
}

// A rewind is a fact that follows an earlier one than the last.
type rewind struct{ seq, prev int64 }

// A run is a period of work, begun by a fact.
type run struct {
	Period
	seq  int64
	open bool
}

// A call is what spans show of a call.
type call struct {
	name, what, item string
	batch            []llm.ToolUse
	at               time.Time // when the model made it
}

// An Agent is an agent that the session has begun.
type Agent struct {
	Session string // its own
	Name    string
	State   State // of its session: apply its facts

	seq   int64
	call  string
	works []*run
}

// Last returns the number of the fact that was applied last.
func (s *State) Last() int64 { return s.last }

// Agents returns the agents that the session has begun, also those that a rewind took away.
func (s *State) Agents() []*Agent { return s.agents }

// Apply changes the state by the next event of the session. It ignores facts that it has seen, and
// signals other than the events of agents. Give it these or the facts of [State.Agents], not both.
func (s *State) Apply(e event.Event) {
	if d, ok := e.Data.(event.AgentEvent); ok {
		s.agentEvent(d)
		return
	}
	if _, ok := e.Data.(event.Fact); !ok || e.Seq <= s.last {
		return
	}
	if e.Prev < s.last && s.last > 0 {
		s.rewinds = append(s.rewinds, rewind{e.Seq, e.Prev})
		s.pause()
		s.settle()
	}
	s.apply(e)
	s.last, s.at = e.Seq, e.Time
}

func (s *State) apply(e event.Event) {
	switch d := e.Data.(type) {
	case event.UserMessage:
		if d.Delivery == fact.AsPrompt {
			s.begin(e)
		}
	case fact.CompactionRequested:
		s.begin(e)
	case event.Resumed:
		s.pause()
		s.begin(e)
	case event.RunEnd:
		s.at = e.Time
		s.pause()
		if d.Reason != event.Suspended {
			s.settle()
		}

	case fact.ModelStart:
		s.modelStart(e, d)
	case event.AssistantMessage:
		s.answered(e, d)
	case event.ModelFailed:
		s.modelFailed(e, d)
	case event.Compacted:
		s.modelEnd(e, d.Key, d.Usage, d.CostUSD, d.Failed, strconv.FormatInt(e.Seq, 10))

	case fact.Authorized:
		s.decided(e, d.Call, d.Decision)
	case fact.Answered:
		s.wasAsked(e, d.Call)
		s.decided(e, d.Call, d.Decision)
	case event.ToolStart:
		s.answer(e, d.Call, false)
		s.tool(e, d.Call)
	case fact.ToolDone:
		s.toolEnd(e, d.Call)
		if len(d.Result.Questions) > 0 {
			s.ask(e, d.Call)
		}
	case fact.ToolAmended:
		s.answer(e, d.Call, false)
		s.modelEnd(e, d.Key, d.Usage, d.CostUSD, "", s.calls[d.Call].item)
	case event.ToolResult:
		s.toolResult(e, d)

	case event.AgentStart:
		s.agentStart(e, d)
	case event.AgentEnd:
		if w := s.works[d.Key]; w != nil && w.open {
			w.End, w.open = e.Time, false
		}
	}
}

// begin opens a period of work.
func (s *State) begin(e event.Event) {
	if n := len(s.runs); n > 0 && s.runs[n-1].open {
		return
	}
	s.runs = append(s.runs, &run{Period: Period{Start: e.Time}, seq: e.Seq, open: true})
}

// pause ends the period of work, and all but questions, with the fact that was applied last.
func (s *State) pause() {
	if n := len(s.runs); n > 0 && s.runs[n-1].open {
		s.runs[n-1].End, s.runs[n-1].open = s.at, false
	}
	for key, sp := range s.models {
		sp.end(s.at)
		delete(s.models, key)
	}
	for _, sp := range s.tools {
		sp.end(s.at)
	}
	s.endWaiting(s.at)
}

// settle ends the questions.
func (s *State) settle() {
	for id, sp := range s.asked {
		sp.end(s.at)
		delete(s.asked, id)
	}
}

// add opens a span.
func (s *State) add(e event.Event, k Kind, name string) *Span {
	sp := &Span{Kind: k, Period: Period{Start: e.Time}, Open: true, Name: name, Seq: e.Seq}
	s.spans = append(s.spans, sp)
	return sp
}

// end closes a span.
func (sp *Span) end(at time.Time) {
	if sp != nil && sp.Open {
		sp.End, sp.Open = at, false
	}
}

func (s *State) endWaiting(at time.Time) {
	s.waiting.end(at)
	s.waiting = nil
}

func (s *State) modelStart(e event.Event, d fact.ModelStart) {
	s.endWaiting(e.Time)
	sp := s.add(e, Model, d.Model)
	sp.Item = d.Key
	switch {
	case d.Call != "":
		sp.Call, sp.Item, sp.What = d.Call, s.calls[d.Call].item, "reads a result"
	case d.Compacts != "":
		sp.Item, sp.What = "", "writes a summary"
	}
	put(&s.models, d.Key, sp)
}

// modelEnd closes the span of a model call, if it has one.
func (s *State) modelEnd(e event.Event, key string, u llm.Usage, usd *float64, failed, item string) *Span {
	sp := s.models[key]
	if sp == nil {
		return nil
	}
	delete(s.models, key)
	sp.end(e.Time)
	sp.Usage, sp.CostUSD = u, usd
	if failed != "" {
		sp.Failed, sp.What = true, text.Runes(text.OneLine(failed), maxWhat)
	}
	if item != "" {
		sp.Item = item
	}
	return sp
}

// modelBegan adds the span of a model call whose start is not among the facts: a program that gets
// the facts without bookkeeping knows only how long the call took.
func (s *State) modelBegan(e event.Event, key, model string, took time.Duration) {
	if s.models[key] != nil {
		return
	}
	sp := s.add(e, Model, model)
	sp.Start, sp.Item = e.Time.Add(-max(took, 0)), key
	s.endWaiting(sp.Start)
	put(&s.models, key, sp)
}

func (s *State) answered(e event.Event, d event.AssistantMessage) {
	s.modelBegan(e, d.Key, d.Model, d.Duration)
	s.modelEnd(e, d.Key, d.Response.Usage, d.CostUSD, "", d.Key)
	for i, u := range d.Response.Message.ToolUses() {
		id := "c" + strconv.FormatInt(e.Seq, 10) + "." + strconv.Itoa(i)
		if s.calls == nil {
			s.calls = map[string]call{}
		}
		s.calls[id] = call{name: u.Name, what: what(u.Input), item: d.Key + "/" + u.ID, batch: parts(u.Input), at: e.Time}
	}
}

func (s *State) modelFailed(e event.Event, d event.ModelFailed) {
	s.modelBegan(e, d.Key, d.Model, d.Duration)
	sp := s.modelEnd(e, d.Key, d.Usage, d.CostUSD, d.Message, "")
	if d.Retry {
		s.endWaiting(e.Time)
		s.waiting = s.add(e, Retry, d.Model)
		s.waiting.What = text.Runes(text.OneLine(d.Message), maxWhat)
		if sp != nil {
			s.waiting.Item = sp.Item
		}
	}
}

// about puts into a span what it is about.
func (s *State) about(sp *Span, id string) *Span {
	c, ok := s.calls[id]
	if !ok { // a part of a batch
		if i := strings.LastIndexByte(id, '.'); i > 0 {
			n, err := strconv.Atoi(id[i+1:])
			whole := s.calls[id[:i]]
			if batch := whole.batch; err == nil && n > 0 && n <= len(batch) {
				u := batch[n-1]
				c = call{name: u.Name, what: what(u.Input), item: id, batch: parts(u.Input), at: whole.at}
				s.calls[id] = c
			}
		}
	}
	sp.Call, sp.Name, sp.What, sp.Item = id, c.name, c.what, c.item
	return sp
}

func (s *State) decided(e event.Event, id string, d permission.Decision) {
	switch d.Behavior {
	case permission.Asked, permission.Deferred:
		s.ask(e, id)
	default:
		s.answer(e, id, d.Behavior == permission.Denied)
	}
}

// ask opens the span of a question, unless there is one.
func (s *State) ask(e event.Event, id string) {
	if s.asked[id] == nil {
		put(&s.asked, id, s.about(s.add(e, You, ""), id))
	}
}

// wasAsked adds the span of a question that was answered and whose beginning is not among the facts,
// as in those without bookkeeping: the person was asked about a call when the model made it.
func (s *State) wasAsked(e event.Event, id string) {
	if s.asked[id] != nil {
		return
	}
	s.ask(e, id)
	if c := s.calls[id]; !c.at.IsZero() {
		s.asked[id].Start = c.at
	}
}

// answer closes the span of a question, if there is one.
func (s *State) answer(e event.Event, id string, denied bool) {
	if sp := s.asked[id]; sp != nil {
		delete(s.asked, id)
		sp.end(e.Time)
		sp.Failed = denied
	}
}

func (s *State) tool(e event.Event, id string) {
	s.tools[id].end(e.Time)
	put(&s.tools, id, s.about(s.add(e, Tool, ""), id))
}

func (s *State) toolEnd(e event.Event, id string) { s.tools[id].end(e.Time) }

func (s *State) toolResult(e event.Event, d event.ToolResult) {
	s.answer(e, d.Call, d.Cause == fact.ByDenial)
	if s.tools[d.Call] == nil { // it did not run
		s.tool(e, d.Call)
	}
	s.toolEnd(e, d.Call)
	s.tools[d.Call].Failed = d.Result.IsError
	delete(s.tools, d.Call)
}

func (s *State) agentStart(e event.Event, d event.AgentStart) {
	w := s.works[d.Key]
	if w == nil || !w.open {
		w = &run{Period: Period{Start: e.Time}, seq: e.Seq, open: true}
		a := s.agent(d.Session, d.Agent)
		if a.works == nil {
			a.seq, a.call = e.Seq, d.Call
		}
		a.works = append(a.works, w)
	}
	if s.works == nil {
		s.works = map[string]*run{}
	}
	s.works[d.Key] = w
}

// agent returns the agent of a session.
func (s *State) agent(session, name string) *Agent {
	for _, a := range s.agents {
		if a.Session == session {
			return a
		}
	}
	a := &Agent{Session: session, Name: name}
	s.agents = append(s.agents, a)
	return a
}

func (s *State) agentEvent(d event.AgentEvent) {
	if d.Event == nil {
		return
	}
	s.agent(d.Event.Session, d.Agent).State.Apply(*d.Event)
}

// put sets a key of a map that may be nil.
func put(m *map[string]*Span, key string, sp *Span) {
	if *m == nil {
		*m = map[string]*Span{}
	}
	(*m)[key] = sp
}

// Timeline returns the timeline until now. Facts that a rewind took away are not on it.
func (s *State) Timeline(now time.Time) Timeline {
	return s.timeline(time.Time{}, now)
}

// LastRun returns what the timeline has since the last run of the session began, and when that was.
// Without a run it has no lanes. It costs far less than the whole timeline of a session with many runs.
func (s *State) LastRun(now time.Time) (t Timeline, began time.Time) {
	counts := s.path()
	for i := len(s.runs) - 1; i >= 0; i-- {
		if r := s.runs[i]; counts(r.seq) {
			return s.timeline(r.Start, now), r.Start
		}
	}
	return t, began
}

func (s *State) timeline(since, now time.Time) (t Timeline) {
	s.lanes(&t, Lane{Name: "main"}, nil, since, now)
	t.Axis = axis(t.Lanes)
	return t
}

// lanes adds the lane of a session, and those of its agents, without what had ended before a time.
func (s *State) lanes(t *Timeline, l Lane, works []*run, since, now time.Time) {
	counts := s.path()
	work := func(r *run) {
		if p := r.until(now); !p.End.Before(since) {
			l.Work = append(l.Work, p)
		}
	}
	for _, r := range s.runs {
		if counts(r.seq) {
			work(r)
		}
	}
	if len(l.Work) == 0 { // its journal is not known
		for _, w := range works {
			work(w)
		}
	}
	for _, sp := range s.spans {
		if !sp.Open && sp.End.Before(since) {
			continue
		}
		if counts(sp.Seq) {
			sp := *sp
			if sp.Open {
				sp.End = now
			}
			if sp.End.Before(sp.Start) {
				sp.End = sp.Start
			}
			l.Spans = append(l.Spans, sp)
		}
	}
	l.Rows = arrange(l.Spans)
	t.Lanes = append(t.Lanes, l)
	for _, a := range s.agents {
		if counts(a.seq) && l.Depth < maxDepth {
			a.State.lanes(t, Lane{Session: a.Session, Name: a.Name, Depth: l.Depth + 1, Call: a.call, Seq: a.seq}, a.works, since, now)
		}
	}
}

// maxDepth is how deep agents may be within each other.
const maxDepth = 10

// until returns a period, until now if it is open.
func (r *run) until(now time.Time) Period {
	p := r.Period
	if r.open {
		p.End = now
	}
	if p.End.Before(p.Start) {
		p.End = p.Start
	}
	return p
}

// path returns which facts lead to the last one.
func (s *State) path() func(seq int64) bool {
	type part struct{ from, to int64 }
	parts := []part{}
	to := s.last
	for i := len(s.rewinds) - 1; i >= 0; i-- {
		if r := s.rewinds[i]; r.seq <= to {
			parts = append(parts, part{r.seq, to})
			to = r.prev
		}
	}
	parts = append(parts, part{0, to})
	return func(seq int64) bool {
		for _, p := range parts {
			if seq >= p.from && seq <= p.to {
				return true
			}
		}
		return false
	}
}
