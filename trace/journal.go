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
	"github.com/openagent-go/agent/permission"
)

// Build makes the records of a session out of its facts, in the order of their
// beginnings: what a recorder would have written, less what is not on record, which are
// hooks and waits for rate limits. What a program that died has begun has the error
// "unfinished". agents returns the facts of the session of an agent that works for a
// session, by their ids; nil leaves agents out. The ids of spans follow from the facts.
func Build(session string, facts []event.Event, agents func(session, agent string) []event.Event) []Record {
	b := builder{trace: id(16, session), agents: agents}
	b.session(session, "", facts, nil)
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

// A stretch is a span of a journal that has not ended.
type stretch struct {
	span  Span
	id    string
	start time.Time
}

// A hiring is where an agent was put to work.
type hiring struct {
	session, name string
	at            time.Time
	parent        string // span of the call
}

// session adds the spans of one session. hired says when, and by which spans, the
// session's agent was put to work.
func (b *builder) session(session, agent string, facts []event.Event, hired []hiring) {
	var (
		run   *stretch
		above string
		last  time.Time
		open  = map[string]*stretch{} // by key
		asked = map[string]*stretch{} // by call
		calls = map[string]string{}   // spans of calls, by call
		tools = map[string]string{}   // names of tools, by call
		hires []hiring
	)
	from := len(b.records)
	put := func(s *stretch, parent string, end time.Time, e End) {
		if e.Fact == nil && e.Error == "" {
			e.Error = "unfinished"
		}
		if y := s.start.Year(); y < 0 || y > 9999 { // which cannot be written
			s.start = end
		}
		b.records = append(b.records, Record{Version: version, Trace: b.trace, Span: s.id, Parent: parent, Kind: s.span.Kind, Name: s.span.Name, Session: session, Agent: agent,
			Key: s.span.Key, Start: s.start, Duration: milliseconds(max(end.Sub(s.start), 0)), Error: e.Error, Message: clip(e.Message, maxMessage), Attrs: Attributes(&s.span, &e)})
	}
	begin := func(e event.Event, s Span) *stretch {
		return &stretch{span: s, id: id(8, fmt.Sprint(session, "/", e.Seq, "/", s.Key, s.Kind)), start: e.Time}
	}
	end := func(key string, e event.Event, f event.Fact) {
		if s := open[key]; s != nil && run != nil {
			put(s, run.id, e.Time, EndOf(f))
			delete(open, key)
		}
	}
	finish := func(at time.Time, e End) {
		if run == nil {
			return
		}
		for _, all := range []map[string]*stretch{open, asked} {
			for _, s := range all {
				put(s, run.id, at, End{})
			}
			clear(all)
		}
		put(run, above, at, e)
		run = nil
	}
	for _, e := range facts {
		_, starts := e.Data.(event.Configured)
		_, resumes := e.Data.(event.Resumed)
		if starts || resumes {
			finish(last, End{}) // one that was cut short
			run = begin(e, Span{Kind: Run, Name: agent, Resumed: resumes})
			above = parentAt(hired, e.Time)
		}
		if last = e.Time; run == nil {
			continue
		}
		switch f := e.Data.(type) {
		case event.ModelStart:
			open[f.Key] = begin(e, Span{Kind: Model, Name: f.Model, Key: f.Key, Call: f.Call})
		case event.AssistantMessage:
			for i, u := range f.Response.Message.ToolUses() {
				tools[fmt.Sprintf("c%d.%d", e.Seq, i)] = u.Name
			}
			end(f.Key, e, f)
		case event.ModelFailed:
			end(f.Key, e, f)
		case event.ToolAmended:
			end(f.Key, e, f)
		case event.Authorized:
			if f.Decision.Behavior == permission.Asked {
				asked[f.Call] = begin(e, Span{Kind: Permission, Name: tools[f.Call], Call: f.Call})
			}
		case event.Answered:
			if s := asked[f.Call]; s != nil {
				put(s, run.id, e.Time, EndOf(f))
				delete(asked, f.Call)
			}
		case event.ToolStart:
			s := begin(e, Span{Kind: Tool, Name: tools[f.Call], Key: f.Key, Call: f.Call})
			open[f.Key], calls[f.Call] = s, s.id
		case event.ToolDone:
			end(f.Key, e, f)
		case event.ToolResult:
			end(f.Key, e, f)
		case event.Checkpointed:
			if f.Key != "" {
				s := begin(e, Span{Kind: Checkpoint, Key: f.Key})
				s.start = e.Time.Add(-f.Duration)
				put(s, run.id, e.Time, EndOf(f))
			}
		case event.Compacted:
			s := begin(e, Span{Kind: Compaction, Name: string(f.Trigger), Key: f.Key})
			s.start = e.Time.Add(-f.Duration)
			put(s, run.id, e.Time, EndOf(f))
			delete(open, f.Key)
		case event.AgentStart:
			hires = append(hires, hiring{f.Session, f.Agent, e.Time, cmp.Or(calls[f.Call], run.id)})
		case event.RunEnd:
			finish(e.Time, EndOf(f))
		}
	}
	finish(last, End{})
	slices.Reverse(b.records[from:]) // runs before what is within them
	if b.agents == nil {
		return
	}
	b.within = append(b.within, session)
	defer func() { b.within = b.within[:len(b.within)-1] }()
	seen := map[string]bool{}
	for _, h := range hires {
		if seen[h.session] || slices.Contains(b.within, h.session) {
			continue
		}
		seen[h.session] = true
		own := slices.DeleteFunc(slices.Clone(hires), func(x hiring) bool { return x.session != h.session })
		b.session(h.session, h.name, b.agents(session, h.session), own)
	}
}

// parentAt is the span that has put an agent to work at a time.
func parentAt(hired []hiring, at time.Time) (span string) {
	for i, h := range hired {
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
// https://ui.perfetto.dev reads too: a process for each session, spans beneath those
// that they are within, and what is done at the same time beside it.
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
