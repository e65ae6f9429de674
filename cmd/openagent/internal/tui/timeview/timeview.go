// Package timeview shows the timeline of a session on a screen of its own: a lane for each agent,
// with marks for the model, tools, the person and retries. It is pure: inputs and timelines go in,
// actions and rows of text come out.
//
//	var v timeview.View
//	do(v.Update(input.Resize{W: 100, H: 40}))
//	do(v.Update(timeview.Opened{Timeline: t}))
//	show(v.Draw())
package timeview

import (
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/internal/timeline"
)

// An Input changes the view. It is an [input.Key], an [input.Resize] or one of the types below.
type Input any

type (
	// Opened brings the timeline, also a newer one of the same session. Zone is where the
	// person is; nil: UTC.
	Opened struct {
		Timeline timeline.Timeline
		Zone     *time.Location
	}
	// Alert is a text that the status shows first, until another one or "" comes.
	Alert struct{ Text string }
	// Failed says why the timeline cannot be read.
	Failed struct{ Text string }
)

// An Action is what the view asks the program to do.
type Action interface{ action() }

type (
	// Jump shows an item of the session.
	Jump struct {
		Seq  int64  // of a fact of the item, in the session itself
		Item string // its ID, or that of an item in it; may be empty
		Call string // id of the call that the item is; "": it need not be one
	}
	// Close leaves the view.
	Close struct{}
)

func (Jump) action()  {}
func (Close) action() {}

// A View is the state of the view. The zero value waits for a timeline.
type View struct {
	width, height int

	t      timeline.Timeline
	zone   *time.Location
	opened bool
	note   string
	alert  string

	lane int // that is selected
	span int // of the lane, that is selected; -1: it has none
	last bool
	top  int // the first lane on the screen
	zoom int // the axis is so often doubled
	left time.Duration
}

// maxZoom is how often the axis may be doubled.
const maxZoom = 16

// Update changes the view, and returns what the program is to do.
func (v *View) Update(in Input) []Action {
	var do []Action
	switch in := in.(type) {
	case input.Resize:
		v.width, v.height = in.W, in.H
	case input.Key:
		do = v.key(in)
	case Opened:
		v.open(in)
	case Alert:
		v.alert = in.Text
		return nil
	case Failed:
		v.note = in.Text
		return nil
	}
	v.settle()
	return do
}

// open takes in a timeline. The selected span stays selected. If it is the last one, the last one
// of the new timeline takes its place.
func (v *View) open(in Opened) {
	session, was := "", timeline.Span{}
	if v.opened && len(v.t.Lanes) > 0 {
		session = v.t.Lanes[v.lane].Session
		if s := v.selected(); s != nil {
			was = *s
		}
	}
	follow := !v.opened || v.last
	v.t, v.zone, v.opened, v.note = in.Timeline, in.Zone, true, ""
	if v.zone == nil {
		v.zone = time.UTC
	}
	v.lane = max(slices.IndexFunc(v.t.Lanes, func(l timeline.Lane) bool { return l.Session == session }), 0)
	if len(v.t.Lanes) == 0 {
		return
	}
	spans := v.t.Lanes[v.lane].Spans
	v.span = len(spans) - 1
	if follow {
		v.last = true
		return
	}
	if i := slices.IndexFunc(spans, func(s timeline.Span) bool { return s.Seq == was.Seq && s.Kind == was.Kind && s.Call == was.Call }); i >= 0 {
		v.span = i
	}
}

// selected returns the selected span, or nil.
func (v *View) selected() *timeline.Span {
	if v.lane >= len(v.t.Lanes) {
		return nil
	}
	if spans := v.t.Lanes[v.lane].Spans; v.span >= 0 && v.span < len(spans) {
		return &spans[v.span]
	}
	return nil
}

// key acts on a key.
func (v *View) key(k input.Key) []Action {
	if utf8.RuneCountInString(k.Text) > 1 { // keys that came at the same time
		var do []Action
		for _, r := range k.Text {
			do = append(do, v.key(input.Key{Code: unicode.ToLower(r), Text: string(r)})...)
		}
		return do
	}
	switch k.String() {
	case "q", "esc", "ctrl+c", "ctrl+t":
		return []Action{Close{}}
	}
	if len(v.t.Lanes) == 0 {
		return nil
	}
	spans := v.t.Lanes[v.lane].Spans
	switch k.String() {
	case "left", "h":
		v.pick(v.span - 1)
	case "right", "l":
		v.pick(v.span + 1)
	case "home", "g":
		v.pick(0)
	case "end", "G":
		v.pick(len(spans) - 1)
	case "up", "k":
		v.toLane(v.lane - 1)
	case "down", "j":
		v.toLane(v.lane + 1)
	case "+", "=":
		v.zoom = min(v.zoom+1, maxZoom)
		v.centre()
	case "-":
		v.zoom = max(v.zoom-1, 0)
		v.centre()
	case "0":
		v.zoom = 0
	case "enter", "ctrl+o":
		return v.jump()
	}
	return nil
}

// pick selects a span of the lane.
func (v *View) pick(i int) {
	n := len(v.t.Lanes[v.lane].Spans)
	v.span = min(max(i, 0), n-1)
	v.last = v.span == n-1
}

// toLane selects the span of another lane that is nearest in time.
func (v *View) toLane(i int) {
	if i < 0 || i >= len(v.t.Lanes) || i == v.lane {
		return
	}
	var at time.Duration
	if s := v.selected(); s != nil {
		at = v.middle(s)
	} else if w := v.t.Lanes[v.lane].Work; len(w) > 0 {
		at = v.t.Axis.At(w[0].Start)
	}
	v.lane = i
	best, distance := 0, time.Duration(-1)
	for j, s := range v.t.Lanes[i].Spans {
		if d := (v.middle(&s) - at).Abs(); distance < 0 || d < distance {
			best, distance = j, d
		}
	}
	v.pick(best)
}

// middle is where the middle of a span is on the axis.
func (v *View) middle(s *timeline.Span) time.Duration {
	return (v.t.Axis.At(s.Start) + v.t.Axis.At(s.End)) / 2
}

// jump shows the item of the selected span. Of an agent, it is the call that has begun it.
func (v *View) jump() []Action {
	s := v.selected()
	lane := v.t.Lanes[v.lane]
	if lane.Depth == 0 {
		if s == nil {
			return nil
		}
		return []Action{Jump{Seq: s.Seq, Item: s.Item, Call: s.Call}}
	}
	for i := v.lane; i >= 0; i-- {
		if l := v.t.Lanes[i]; l.Depth == 1 {
			return []Action{Jump{Seq: l.Seq, Call: l.Call}}
		}
	}
	return nil
}

// centre shows the selected span in the middle.
func (v *View) centre() {
	if s := v.selected(); s != nil {
		v.left = v.middle(s) - v.shown()/2
	}
}

// shown is how much of the axis the screen shows.
func (v *View) shown() time.Duration { return v.t.Axis.Total >> v.zoom }

// settle brings the screen into its limits after a change.
func (v *View) settle() {
	if s := v.selected(); s != nil { // it stays on the screen
		from, to := v.t.Axis.At(s.Start), v.t.Axis.At(s.End)
		if v.left > from {
			v.left = from
		}
		if v.left < min(to-v.shown()*9/10, from) {
			v.left = min(to-v.shown()*9/10, from)
		}
	}
	v.left = max(min(v.left, v.t.Axis.Total-v.shown()), 0)
	v.top = max(min(v.top, v.lane), v.lane-v.rows()+1)
	v.top = max(min(v.top, len(v.t.Lanes)-v.rows()), 0)
}
