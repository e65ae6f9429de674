package serve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/timeline"
	"github.com/openagent-go/agent/internal/turns"
)

// A chart is a timeline as a picture.
type chart struct {
	Width, Height, Left, End float64 // End is the place of the last instant
	Axis                     float64 // its y
	Lanes                    []chartLane
	Ticks                    []tick
	Breaks                   []float64
	Now                      bool // something is not over
	Split                    *bar
	MoreLanes                int
}

type chartLane struct {
	Name  string
	Y     float64 // of the name
	Rects []rect
}

type rect struct {
	X, Y, Width                float64
	Class, Title, Href, Failed string
}

type tick struct {
	X    float64
	Text string
}

// size is how a chart is drawn.
type size struct {
	width, left, row float64
	lanes            int // the most of them
	spans            int // the most in a lane
}

var (
	small = size{width: 290, left: 76, row: 14, lanes: 6, spans: 150}
	large = size{width: 1000, left: 130, row: 18, lanes: 60, spans: 2000}
)

// lastRun draws the last run of a session, nil if there was none.
func lastRun(r *turns.Reader, s *timeline.State, now time.Time) *chart {
	t, began := s.LastRun(now)
	if len(t.Lanes) == 0 {
		return nil
	}
	return draw(r, t, began, small)
}

// draw draws what happened since a time.
func draw(r *turns.Reader, t timeline.Timeline, since time.Time, as size) *chart {
	from, to := t.Axis.At(since), t.Axis.Total
	if to <= from {
		to = from + time.Millisecond
	}
	c := &chart{Width: as.width, Left: as.left, End: as.width - 2}
	scale := (c.End - as.left) / float64(to-from)
	x := func(d time.Duration) float64 { return as.left + float64(d-from)*scale }
	y := 4.0
	for i, lane := range t.Lanes {
		spans := slices.DeleteFunc(slices.Clone(lane.Spans), func(s timeline.Span) bool { return s.End.Before(since) })
		if len(spans) == 0 && i > 0 {
			continue
		}
		if len(c.Lanes) == as.lanes {
			c.MoreLanes++
			continue
		}
		spans = spans[max(0, len(spans)-as.spans):]
		out := chartLane{Name: strings.Repeat("· ", max(0, lane.Depth-1)) + r.Line(lane.Name), Y: y + 9}
		rows := 1
		for _, s := range spans {
			begin, end := max(t.Axis.At(s.Start), from), t.Axis.At(s.End)
			row := min(s.Row, 5)
			rows = max(rows, row+1)
			box := rect{X: x(begin), Y: y + float64(row)*as.row, Width: max(x(end)-x(begin)-0.5, 0.8), Class: string(s.Kind), Title: spanTitle(r, s)}
			if s.Failed && s.Kind != timeline.You {
				box.Class = "failed"
			}
			if lane.Depth == 0 {
				box.Href = place0(s)
			} else {
				box.Href = ""
			}
			c.Now = c.Now || s.Open
			out.Rects = append(out.Rects, box)
		}
		c.Lanes = append(c.Lanes, out)
		y += float64(rows)*as.row + 6
	}
	c.Axis = y
	c.Height = y + 16
	for i := range 3 {
		d := (to - from) * time.Duration(i) / 2
		c.Ticks = append(c.Ticks, tick{x(from + d), turns.Span(d)})
	}
	for _, b := range t.Axis.Breaks(time.Minute) {
		if b.At > from {
			c.Breaks = append(c.Breaks, x(b.At))
		}
	}
	c.Split = split(t.Lanes[0].Spans, since)
	return c
}

// place0 is where a span of the session itself is in its page.
func place0(s timeline.Span) string {
	switch {
	case s.Call != "":
		return "#" + s.Call
	case s.Item != "" && s.Kind == timeline.Model:
		return "#t" + s.Item
	}
	return ""
}

func spanTitle(r *turns.Reader, s timeline.Span) string {
	title := map[timeline.Kind]string{timeline.Model: "model ", timeline.Tool: "", timeline.You: "you: ", timeline.Retry: "retry "}[s.Kind] + r.Line(s.Name)
	if s.What != "" {
		title += " " + r.Line(s.What)
	}
	if s.Failed {
		title += " (failed)"
	}
	return title + ", " + turns.Span(s.Took())
}

// split says where the time went. Each instant counts once: for tools first, then for the model, the
// person and retries.
func split(spans []timeline.Span, since time.Time) *bar {
	type edge struct {
		at   time.Time
		kind int
		step int
	}
	kinds := []timeline.Kind{timeline.Tool, timeline.Model, timeline.You, timeline.Retry}
	var edges []edge
	for _, s := range spans {
		if s.End.Before(since) {
			continue
		}
		k := slices.Index(kinds, s.Kind)
		edges = append(edges, edge{s.Start, k, 1}, edge{s.End, k, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.step, b.step)) })
	var took [4]time.Duration
	var open [4]int
	for i, e := range edges {
		if i > 0 {
			for k, n := range open {
				if n > 0 {
					took[k] += e.at.Sub(edges[i-1].at)
					break
				}
			}
		}
		open[e.kind] += e.step
	}
	all := took[0] + took[1] + took[2] + took[3]
	if all <= 0 {
		return nil
	}
	b := &bar{}
	place := 0.0
	for _, k := range []int{1, 0, 2, 3} {
		if took[k] <= 0 {
			continue
		}
		width := 100 * float64(took[k]) / float64(all)
		name := map[timeline.Kind]string{timeline.Tool: "tools", timeline.Model: "model", timeline.You: "you", timeline.Retry: "retry"}[kinds[k]]
		b.Parts = append(b.Parts, barPart{place, width, string(kinds[k]), name + " " + turns.Span(took[k])})
		place += width
	}
	words := make([]string, len(b.Parts))
	for i, p := range b.Parts {
		words[i] = p.Text
	}
	b.Label = strings.Join(words, ", ")
	return b
}

// px writes a length of a picture.
func px(v float64) string { return fmt.Sprintf("%.1f", v) }
