// Package tracehtml draws the spans of a session as one HTML page: a waterfall for each run, with tokens
// and cost.
//
//	err := tracehtml.Write(w, "Fix the parser", tracefile.Build(id, facts, agents))
//
// The page has no scripts and loads nothing. It has at most 1 MB: later spans are left out, and the page
// says how many.
package tracehtml

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/htmlpage"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/tracefile"
	"github.com/openagent-go/agent/internal/turns"
)

const (
	maxPage  = 1_000_000 // bytes
	maxName  = 80        // characters of a span's name
	maxDepth = 9         // that rows are indented
)

//go:embed page.tmpl
var pageText string

//go:embed page.css
var style string

var pages = template.Must(template.New("").Funcs(template.FuncMap{"line": line}).Parse(pageText))

// line makes a text of any origin one line in which no character hides or reorders others.
func line(s string) string { return terminal.Text(text.OneLine(s)) }

// A row shows a span.
type row struct {
	Kind, Name, Failed string
	Depth              int
	X, Width           string // of its bar, in percent of the run
	At, Took           string
	In, Out, USD       string
}

// A head begins a page or a run.
type head struct {
	Title, Began     string
	Runs, Spans, Top int
	USD              string
	Failed           string
}

// Write writes the page about the spans of a session.
func Write(w io.Writer, title string, spans []tracefile.Record) error {
	p := page{spans: spans, children: map[string][]int{}}
	known := map[string]bool{}
	for _, s := range spans {
		known[s.Span] = true
	}
	var tops []int
	sum := head{Title: text.Runes(title, maxName), Spans: len(spans)}
	usd, priced := 0.0, false
	for i, s := range spans {
		if s.Parent != "" && s.Parent != s.Span && known[s.Parent] {
			p.children[s.Parent] = append(p.children[s.Parent], i)
			continue
		}
		tops = append(tops, i)
		if v, ok := number(s, "cost_usd"); ok && s.Kind == "run" {
			usd, priced = usd+v, true
		}
	}
	if sum.Runs = len(tops); priced {
		sum.USD = fmt.Sprintf("$%.4f", usd)
	}
	p.out.WriteString(htmlpage.Begin("Trace · "+line(sum.Title), style))
	p.do("head", sum)
	for n, i := range tops {
		s := spans[i]
		h := head{Top: n + 1, Began: turns.Clock(s.Start), USD: cost(s), Failed: failure(s), Title: turns.Span(took(s))}
		p.do("run", h)
		p.tree(i, s, 0)
		p.do("ran", nil)
	}
	p.do("foot", len(spans)-p.shown)
	if p.err != nil {
		return p.err
	}
	p.out.WriteString(htmlpage.End)
	_, err := p.out.WriteTo(w)
	return err
}

type page struct {
	spans    []tracefile.Record
	children map[string][]int // by the id of a span
	out      bytes.Buffer
	shown    int
	full     bool
	err      error
}

// roomForEnds is what is kept free for the ends of runs and of the page.
const roomForEnds = 4000

// do adds a part of the page. When the page is full, only its end is.
func (p *page) do(name string, data any) {
	if p.err != nil || p.full && name != "foot" {
		return
	}
	before := p.out.Len()
	p.err = pages.ExecuteTemplate(&p.out, name, data)
	if p.full = p.full || p.out.Len() > maxPage-roomForEnds; p.full && name != "foot" {
		p.out.Truncate(before)
	}
}

// tree adds a span and those within it. top is the one that the bars are measured by.
func (p *page) tree(i int, top tracefile.Record, depth int) {
	s := p.spans[i]
	p.do("row", rowOf(s, top, depth))
	if p.full || p.err != nil {
		return
	}
	p.shown++
	if depth > len(p.spans) {
		return
	}
	for _, c := range p.children[s.Span] {
		p.tree(c, top, depth+1)
	}
}

func rowOf(s, top tracefile.Record, depth int) row {
	at, all := s.Start.Sub(top.Start), max(took(top), time.Microsecond)
	percent := func(d time.Duration) float64 { return min(max(100*float64(d)/float64(all), 0), 100) }
	x := percent(at)
	r := row{Kind: s.Kind, Name: text.Runes(cmp.Or(s.Name, s.Agent), maxName), Depth: min(depth, maxDepth), Failed: failure(s),
		X: fmt.Sprintf("%.2f", min(x, 99.8)), Width: fmt.Sprintf("%.2f", max(percent(at+took(s))-x, 0.2)), At: turns.Span(max(at, 0)), Took: turns.Span(took(s)), USD: cost(s)}
	in, out := 0.0, 0.0
	for _, key := range []string{"input_tokens", "cache_read_tokens", "cache_write_tokens"} {
		v, _ := number(s, key)
		in += v
	}
	if out, _ = number(s, "output_tokens"); in+out > 0 {
		r.In, r.Out = turns.Short(int(in)), turns.Short(int(out))
	}
	return r
}

func took(s tracefile.Record) time.Duration {
	return time.Duration(max(s.Duration, 0) * float64(time.Millisecond))
}

// failure says how a span failed, "" if it did not.
func failure(s tracefile.Record) string {
	if s.Error == "" {
		return ""
	}
	return text.Runes(strings.TrimSuffix(s.Error+": "+s.Message, ": "), 200)
}

func cost(s tracefile.Record) string {
	v, ok := number(s, "cost_usd")
	if !ok {
		return ""
	}
	return fmt.Sprintf("$%.4f", v)
}

// number returns an attribute of a span.
func number(s tracefile.Record, key string) (float64, bool) {
	switch v := s.Attrs[key].(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
