package tracefile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/permission"
)

// The kinds of spans that a journal holds, as package trace has them.
const (
	kindRun        = "run"
	kindModel      = "model"
	kindTool       = "tool"
	kindPermission = "permission"
	kindCompaction = "compaction"
	kindCheckpoint = "checkpoint"
)

// Build makes the records of a session from its facts, in the order of their beginnings.
// The result equals a recorder's, without hooks and waits for rate limits, which facts do
// not record. Spans that were open when the program died have the error "unfinished".
// agents returns the facts of a sub-agent's session by its ids; nil leaves sub-agents out.
// The ids of spans follow from the facts.
func Build(session string, facts []event.Event, agents func(session, agent string) []event.Event) []Record {
	b := builder{trace: id(16, session), agents: agents}
	b.addSession(session, "", facts, nil)
	slices.SortStableFunc(b.records, func(x, y Record) int {
		return cmp.Or(x.Start.Compare(y.Start), cmp.Compare(y.Duration, x.Duration))
	})
	return b.records
}

type builder struct {
	trace   string
	agents  func(session, agent string) []event.Event
	records []Record
	within  []string // the sessions that are being built; none is within itself
}

// An agentStart is the start of an agent: when, and by which call.
type agentStart struct {
	session, name string
	at            time.Time
	parent        string // span of the call
}

// sessionSpans makes the spans of one session.
type sessionSpans struct {
	*builder
	session, agent string
	starts         []agentStart // the session's agent
	run            *Record      // nil: none is open
	above          string       // the span that the run is within
	last           time.Time
	open           map[string]*Record // by key
	asked          map[string]*Record // by call
	calls          map[string]string  // spans of calls, by call
	tools          map[string]string  // names of tools, by call
	otherStarts    []agentStart       // of other agents
}

// addSession adds the spans of one session. starts are the times and calls at which the
// session's agent was started.
func (b *builder) addSession(session, agent string, facts []event.Event, starts []agentStart) {
	from := len(b.records)
	s := sessionSpans{builder: b, session: session, agent: agent, starts: starts,
		open: map[string]*Record{}, asked: map[string]*Record{}, calls: map[string]string{}, tools: map[string]string{}}
	for _, e := range facts {
		s.fact(e)
	}
	s.finish(s.last, nil)
	slices.Reverse(b.records[from:]) // runs come before the spans within them
	if b.agents != nil {
		b.addAgents(session, s.otherStarts)
	}
}

// addAgents adds the spans of the agents that a session has started.
func (b *builder) addAgents(session string, starts []agentStart) {
	b.within = append(b.within, session)
	defer func() { b.within = b.within[:len(b.within)-1] }()
	seen := map[string]bool{}
	for _, h := range starts {
		if seen[h.session] || slices.Contains(b.within, h.session) {
			continue
		}
		seen[h.session] = true
		own := slices.DeleteFunc(slices.Clone(starts), func(x agentStart) bool { return x.session != h.session })
		b.addSession(h.session, h.name, b.agents(session, h.session), own)
	}
}

// fact applies a fact to the spans. Facts that no switch lists are unknown.
func (s *sessionSpans) fact(e event.Event) (known bool) {
	switch e.Data.(type) {
	case fact.Configured:
		s.start(e, false)
		return true
	case event.Resumed:
		s.start(e, true)
		return true
	}
	if s.last = e.Time; s.run == nil {
		return true
	}
	switch f := e.Data.(type) {
	case fact.ModelStart:
		s.open[f.Key] = s.begin(e, Record{Kind: kindModel, Name: f.Model, Key: f.Key}, f.Call)
	case event.AssistantMessage:
		for i, u := range f.Response.Message.ToolUses() {
			s.tools[fmt.Sprintf("c%d.%d", e.Seq, i)] = u.Name
		}
		s.end(f.Key, e, f)
	case event.ModelFailed:
		s.end(f.Key, e, f)
	case fact.ToolAmended:
		s.end(f.Key, e, f)
	case fact.Authorized:
		s.end(f.Key, e, f) // of a call that was not made, because its approval had ended
		if f.Decision.Behavior == permission.Asked {
			s.asked[f.Call] = s.begin(e, Record{Kind: kindPermission, Name: s.tools[f.Call]}, f.Call)
		}
	case fact.Answered:
		if asked := s.asked[f.Call]; asked != nil {
			s.put(asked, s.run.Span, e.Time, f)
			delete(s.asked, f.Call)
		}
	case event.ToolStart:
		call := s.begin(e, Record{Kind: kindTool, Name: s.tools[f.Call], Key: f.Key}, f.Call)
		s.open[f.Key], s.calls[f.Call] = call, call.Span
	case fact.ToolDone:
		s.end(f.Key, e, f)
	case event.ToolResult:
		s.end(f.Key, e, f)
	case fact.Checkpointed:
		if f.Key != "" {
			s.ended(e, Record{Kind: kindCheckpoint, Key: f.Key}, f.Duration, f)
		}
	case event.Compacted:
		s.ended(e, Record{Kind: kindCompaction, Name: string(f.Trigger), Key: f.Key}, f.Duration, f)
		delete(s.open, f.Key)
	case event.AgentStart:
		s.otherStarts = append(s.otherStarts, agentStart{f.Session, f.Agent, e.Time, cmp.Or(s.calls[f.Call], s.run.Span)})
	case event.RunEnd:
		s.finish(e.Time, f)
	case event.UserMessage, fact.Delivered, fact.Retracted, fact.CompactionRequested, fact.Waited, event.ModeChanged, fact.ToolChanged,
		fact.ToolsChanged, event.ModelChanged, fact.FallbacksChanged, fact.BudgetChanged, fact.CallbackChanged,
		event.PermissionsChanged, fact.Stopped, event.Rewound, event.SessionNamed, fact.Hooked, fact.OutputChecked,
		fact.AgentSuspended, event.AgentEnd: // no spans
	default:
		return false
	}
	return true
}

// start begins the span of a run.
func (s *sessionSpans) start(e event.Event, resumed bool) {
	s.finish(s.last, nil) // one that was cut short
	s.run = s.begin(e, Record{Kind: kindRun, Name: s.agent}, "")
	if resumed {
		s.run.Attrs.Set("resumed", true)
	}
	s.above, s.last = parentAt(s.starts, e.Time), e.Time
}

// begin begins a span, which may be about a call.
func (s *sessionSpans) begin(e event.Event, span Record, call string) *Record {
	span.Version, span.Trace, span.Session, span.Agent = Version, s.trace, s.session, s.agent
	span.Span = id(8, fmt.Sprint(s.session, "/", e.Seq, "/", span.Key, span.Kind))
	span.Start, span.Attrs = e.Time, Attributes{}
	span.Attrs.Set("call", call)
	return &span
}

// end ends the span of a key, if there is one.
func (s *sessionSpans) end(key string, e event.Event, f event.Fact) {
	if open := s.open[key]; open != nil {
		s.put(open, s.run.Span, e.Time, f)
		delete(s.open, key)
	}
}

// ended adds a span whose start was not recorded.
func (s *sessionSpans) ended(e event.Event, span Record, took time.Duration, f event.Fact) {
	only := s.begin(e, span, "")
	only.Start = e.Time.Add(-took)
	s.put(only, s.run.Span, e.Time, f)
}

// finish ends the span of the run, and those within it that are open.
func (s *sessionSpans) finish(at time.Time, f event.Fact) {
	if s.run == nil {
		return
	}
	for _, all := range []map[string]*Record{s.open, s.asked} {
		for _, open := range all {
			s.put(open, s.run.Span, at, nil)
		}
		clear(all)
	}
	s.put(s.run, s.above, at, f)
	s.run = nil
}

// put adds a span that has ended with a fact; nil: it is unfinished.
func (s *sessionSpans) put(span *Record, parent string, end time.Time, f event.Fact) {
	if y := span.Start.Year(); y < 0 || y > 9999 { // which cannot be written
		span.Start = end
	}
	failure, message := Failure(f)
	span.Parent = parent
	span.End(max(end.Sub(span.Start), 0), failure, message)
	span.Attrs.Describe(span.Kind, f)
	s.records = append(s.records, *span)
}

// parentAt is the span that has put an agent to work at a time.
func parentAt(starts []agentStart, at time.Time) (span string) {
	for i, h := range starts {
		if i == 0 || !h.at.After(at) {
			span = h.parent
		}
	}
	return span
}

func id(n int, text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:n])
}
