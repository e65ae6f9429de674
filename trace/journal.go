package trace

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/permission"
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

// An openSpan is a span of a journal that has not ended.
type openSpan struct {
	span  Span
	id    string
	start time.Time
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
	run            *openSpan    // nil: none is open
	above          string       // the span that the run is within
	last           time.Time
	open           map[string]*openSpan // by key
	asked          map[string]*openSpan // by call
	calls          map[string]string    // spans of calls, by call
	tools          map[string]string    // names of tools, by call
	otherStarts    []agentStart         // of other agents
}

// addSession adds the spans of one session. starts are the times and calls at which the
// session's agent was started.
func (b *builder) addSession(session, agent string, facts []event.Event, starts []agentStart) {
	from := len(b.records)
	s := sessionSpans{builder: b, session: session, agent: agent, starts: starts,
		open: map[string]*openSpan{}, asked: map[string]*openSpan{}, calls: map[string]string{}, tools: map[string]string{}}
	for _, e := range facts {
		s.fact(e)
	}
	s.finish(s.last, End{})
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
		s.open[f.Key] = s.begin(e, Span{Kind: Model, Name: f.Model, Key: f.Key, Call: f.Call})
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
			s.asked[f.Call] = s.begin(e, Span{Kind: Permission, Name: s.tools[f.Call], Call: f.Call})
		}
	case fact.Answered:
		if asked := s.asked[f.Call]; asked != nil {
			s.put(asked, s.run.id, e.Time, EndOf(f))
			delete(s.asked, f.Call)
		}
	case event.ToolStart:
		call := s.begin(e, Span{Kind: Tool, Name: s.tools[f.Call], Key: f.Key, Call: f.Call})
		s.open[f.Key], s.calls[f.Call] = call, call.id
	case fact.ToolDone:
		s.end(f.Key, e, f)
	case event.ToolResult:
		s.end(f.Key, e, f)
	case fact.Checkpointed:
		if f.Key != "" {
			s.ended(e, Span{Kind: Checkpoint, Key: f.Key}, f.Duration, f)
		}
	case event.Compacted:
		s.ended(e, Span{Kind: Compaction, Name: string(f.Trigger), Key: f.Key}, f.Duration, f)
		delete(s.open, f.Key)
	case event.AgentStart:
		s.otherStarts = append(s.otherStarts, agentStart{f.Session, f.Agent, e.Time, cmp.Or(s.calls[f.Call], s.run.id)})
	case event.RunEnd:
		s.finish(e.Time, EndOf(f))
	case event.UserMessage, fact.Delivered, fact.CompactionRequested, fact.Waited, event.ModeChanged, fact.ToolChanged,
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
	s.finish(s.last, End{}) // one that was cut short
	s.run = s.begin(e, Span{Kind: Run, Name: s.agent, Resumed: resumed})
	s.above, s.last = parentAt(s.starts, e.Time), e.Time
}

// begin begins a span.
func (s *sessionSpans) begin(e event.Event, span Span) *openSpan {
	return &openSpan{span: span, id: id(8, fmt.Sprint(s.session, "/", e.Seq, "/", span.Key, span.Kind)), start: e.Time}
}

// end ends the span of a key, if there is one.
func (s *sessionSpans) end(key string, e event.Event, f event.Fact) {
	if open := s.open[key]; open != nil {
		s.put(open, s.run.id, e.Time, EndOf(f))
		delete(s.open, key)
	}
}

// ended adds a span of which only the end is on record.
func (s *sessionSpans) ended(e event.Event, span Span, took time.Duration, f event.Fact) {
	only := s.begin(e, span)
	only.start = e.Time.Add(-took)
	s.put(only, s.run.id, e.Time, EndOf(f))
}

// finish ends the span of the run, and those within it that are open.
func (s *sessionSpans) finish(at time.Time, e End) {
	if s.run == nil {
		return
	}
	for _, all := range []map[string]*openSpan{s.open, s.asked} {
		for _, open := range all {
			s.put(open, s.run.id, at, End{})
		}
		clear(all)
	}
	s.put(s.run, s.above, at, e)
	s.run = nil
}

// put adds the record of a span.
func (s *sessionSpans) put(span *openSpan, parent string, end time.Time, e End) {
	if e.Fact == nil && e.Error == "" {
		e.Error = "unfinished"
	}
	if y := span.start.Year(); y < 0 || y > 9999 { // which cannot be written
		span.start = end
	}
	s.records = append(s.records, Record{Version: version, Trace: s.trace, Span: span.id, Parent: parent, Kind: span.span.Kind, Name: span.span.Name, Session: s.session, Agent: s.agent,
		Key: span.span.Key, Start: span.start, Duration: milliseconds(max(end.Sub(span.start), 0)), Error: e.Error, Message: text.Bytes(e.Message, maxMessage), Attrs: Attributes(&span.span, &e)})
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

// Write writes records as lines of JSON.
func Write(w io.Writer, rs []Record) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for i := range rs {
		if err := e.Encode(&rs[i]); err != nil {
			return fmt.Errorf("trace: %w", err)
		}
	}
	return nil
}

// WriteChrome writes records in the format of Chrome's trace viewer, which
// https://ui.perfetto.dev reads too. Each session is a process. Nested spans are under each
// other, concurrent ones side by side.
func WriteChrome(w io.Writer, rs []Record) error {
	type chrome struct {
		Name  string         `json:"name"`
		Cat   Kind           `json:"cat,omitempty"`
		Phase string         `json:"ph"`
		TS    float64        `json:"ts"`
		Dur   float64        `json:"dur,omitempty"`
		PID   int            `json:"pid"`
		TID   int            `json:"tid"`
		Args  map[string]any `json:"args,omitempty"`
	}
	rs = slices.Clone(rs)
	slices.SortStableFunc(rs, func(a, b Record) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(b.Duration, a.Duration))
	})
	type lane []time.Time // ends of the spans that are open, the outermost first
	pids, lanes := map[string]int{}, map[string][]lane{}
	events := []chrome{}
	for _, r := range rs {
		if r.Session == "" {
			continue
		}
		if pids[r.Session] == 0 {
			pids[r.Session] = len(pids) + 1
			events = append(events, chrome{Name: "process_name", Phase: "M", PID: pids[r.Session], Args: map[string]any{"name": cmp.Or(r.Agent, "session") + " " + r.Session}})
		}
		end := r.Start.Add(time.Duration(r.Duration * float64(time.Millisecond)))
		tid := -1
		all := lanes[r.Session]
		for i := range all {
			for len(all[i]) > 0 && !all[i][len(all[i])-1].After(r.Start) {
				all[i] = all[i][:len(all[i])-1]
			}
			if n := len(all[i]); tid < 0 && (n == 0 || !all[i][n-1].Before(end)) {
				tid = i
			}
		}
		if tid < 0 {
			all, tid = append(all, nil), len(all)
		}
		all[tid] = append(all[tid], end)
		lanes[r.Session] = all
		args := map[string]any{"key": r.Key}
		for k, v := range r.Attrs {
			args[k] = v
		}
		if r.Error != "" {
			args["error"], args["message"] = r.Error, r.Message
		}
		name := string(r.Kind)
		if r.Name != "" {
			name += " " + r.Name
		}
		events = append(events, chrome{name, r.Kind, "X", float64(r.Start.UnixMicro()), r.Duration * 1000, pids[r.Session], tid, args})
	}
	if err := json.NewEncoder(w).Encode(map[string]any{"displayTimeUnit": "ms", "traceEvents": events}); err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	return nil
}
