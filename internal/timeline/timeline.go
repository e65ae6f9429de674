// Package timeline computes from the facts of a session what was done when: by the model, by
// tools, by the person who was asked, and by agents in lanes of their own.
//
//	var s timeline.State
//	for e, err := range store.Read(ctx, id, 0) {
//		if err != nil {
//			return err
//		}
//		s.Apply(e)
//	}
//	t := s.Timeline(time.Now())
//
// [agentview.ReadTimeline] reads the journals of agents as well. The package does no I/O and reads
// no clock. Names and texts come from models and files: make them safe for the place where you
// show them.
package timeline

import (
	"slices"
	"sort"
	"time"

	"github.com/openagent-go/agent/llm"
)

// A Timeline says what was done when.
type Timeline struct {
	Lanes []Lane // that of the session first; those of an agent's agents follow its own
	Axis  Axis
}

// A Lane is what one agent did.
type Lane struct {
	Session string   // of the agent; "": the session itself
	Name    string   // of the agent; "main" of the session itself
	Depth   int      // 0: the session itself, 1: its agents, and so on
	Call    string   // the call that began the agent; "" for the session itself
	Seq     int64    // of the fact that began it, in the session that did; 0 for the session itself
	Work    []Period // its runs
	Spans   []Span   // in the order of their starts
	Rows    int      // how many rows show all spans without covering one
}

// A Period is a part of time.
type Period struct{ Start, End time.Time }

// A Kind says who is at work in a span.
type Kind string

// The kinds of spans.
const (
	Model Kind = "model" // the model writes an answer, a summary or a digest
	Tool  Kind = "tool"  // a call runs
	You   Kind = "you"   // a person is asked
	Retry Kind = "retry" // a failed model call waits for its next try
)

// A Span is a piece of work.
type Span struct {
	Kind   Kind
	Period      // without an end in time it ends now
	Open   bool // it is not over
	Row    int  // in its lane, from 0: no other span of the row overlaps it
	Failed bool // a failed model call, an error of a tool, or a person's no
	Name   string
	What   string // in a line: what a call does, or why a model call failed

	Seq     int64     // of the fact that began it
	Item    string    // ID of the item that shows it in the view of its session; may be empty
	Call    string    // id of the call that it is about; may be empty
	Usage   llm.Usage // of a model call
	CostUSD *float64  // of a model call; nil: not known
}

// Took returns how long a span took so far.
func (p Period) Took() time.Duration { return p.End.Sub(p.Start) }

// An Axis is the time in which something was done. The time between runs takes no place on it.
type Axis struct {
	Periods []Period        // in order, without overlaps
	before  []time.Duration // the length of the periods before each one
	Total   time.Duration   // the length of all of them
}

// A Break is a place of an axis where time between runs was left out.
type Break struct {
	At  time.Duration // on the axis
	Gap time.Duration // that was left out
}

// At returns the place of a time on the axis. A time between two periods is where the later one
// begins.
func (a Axis) At(t time.Time) time.Duration {
	i := sort.Search(len(a.Periods), func(i int) bool { return a.Periods[i].End.After(t) })
	if i == len(a.Periods) {
		return a.Total
	}
	return a.before[i] + max(t.Sub(a.Periods[i].Start), 0)
}

// Breaks returns the places where at least the given time was left out.
func (a Axis) Breaks(least time.Duration) []Break {
	var out []Break
	for i := 1; i < len(a.Periods); i++ {
		if gap := a.Periods[i].Start.Sub(a.Periods[i-1].End); gap >= least {
			out = append(out, Break{At: a.before[i], Gap: gap})
		}
	}
	return out
}

// axis joins the periods of all lanes.
func axis(lanes []Lane) Axis {
	var all []Period
	for _, l := range lanes {
		all = append(all, l.Work...)
	}
	slices.SortFunc(all, func(a, b Period) int { return a.Start.Compare(b.Start) })
	var a Axis
	for _, p := range all {
		if n := len(a.Periods); n > 0 && !p.Start.After(a.Periods[n-1].End) {
			if p.End.After(a.Periods[n-1].End) {
				a.Periods[n-1].End = p.End
			}
			continue
		}
		a.Periods = append(a.Periods, p)
	}
	for _, p := range a.Periods {
		a.before = append(a.before, a.Total)
		a.Total += p.Took()
	}
	return a
}

// arrange sorts spans and gives each one a row. It returns how many there are.
func arrange(spans []Span) int {
	slices.SortStableFunc(spans, func(a, b Span) int { return a.Start.Compare(b.Start) })
	var ends []time.Time
	for i := range spans {
		s := &spans[i]
		for s.Row < len(ends) && ends[s.Row].After(s.Start) {
			s.Row++
		}
		if s.Row == len(ends) {
			ends = append(ends, s.End)
		}
		ends[s.Row] = s.End
	}
	return len(ends)
}
