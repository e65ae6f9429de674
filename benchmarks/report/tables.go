package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/openagent-go/agent/benchmarks/harness"
)

// A section is a part of the document: the text between two marks.
type section struct {
	name string
	text func(Report) string
}

var sections = []section{
	{"conditions", Report.conditions},
	{"targets", Report.targets},
	{"loop", Report.loop},
	{"wire", Report.wire},
	{"crowd", Report.crowd},
	{"build", Report.build},
	{"size", Report.size},
}

// Print writes all tables.
func Print(w io.Writer, r Report) error {
	for _, s := range sections {
		if _, err := fmt.Fprintf(w, "## %s\n\n%s\n", s.name, s.text(r)); err != nil {
			return err
		}
	}
	return nil
}

// A table is rows of cells; the first row is the head.
type table [][]string

func (t *table) row(cells ...string) { *t = append(*t, cells) }

func (t table) String() string {
	if len(t) < 2 {
		return "Not measured.\n"
	}
	var b strings.Builder
	for i, row := range t {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|---" + strings.Repeat("|---:", len(row)-1) + "|\n")
		}
	}
	return b.String()
}

// number shows three digits.
func number(v float64) string {
	switch a := max(v, -v); {
	case a == 0:
		return "0"
	case a < 0.995:
		return fmt.Sprintf("%.2f", v)
	case a < 99.5:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
	}
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// of shows a figure of a result, divided by unit.
func of(r *harness.Result, unit float64, figure func(*harness.Result) float64) string {
	if r == nil {
		return "-"
	}
	return number(figure(r) / unit)
}

func cpu(r *harness.Result) float64    { return r.CPU }
func wall(r *harness.Result) float64   { return r.Wall }
func allocs(r *harness.Result) float64 { return r.Allocs }
func size(r *harness.Result) float64   { return r.Bytes }

// times shows how many times more the figure of r is than that of o.
func times(r, o *harness.Result, figure func(*harness.Result) float64) string {
	if r == nil || o == nil || figure(o) <= 0 {
		return "-"
	}
	return number(figure(r)/figure(o)) + "x"
}

func (r Report) conditions() string {
	var versions []string
	seen := map[string]bool{}
	for _, o := range r.Results {
		if o.Version != "" && o.Version != "here" && !seen[o.Peer] {
			seen[o.Peer] = true
			versions = append(versions, o.Peer+" "+o.Version)
		}
	}
	text := fmt.Sprintf("Measured %s on %s, load %s at the start; the run took %s. Versions: %s.\n", r.Date, r.Machine, r.Load, r.Took, strings.Join(versions, ", "))
	for _, o := range r.Results {
		if o.Error != "" {
			text += fmt.Sprintf("\nNot measured: %s, %s %s: %s\n", o.Peer, o.Phase, o.Point, strings.ReplaceAll(o.Error, "\n", " "))
		}
	}
	return text
}

func (r Report) loop() string {
	t := table{{"", "run: µs", "turn: µs CPU at 10", "100", "1000", "× ours at 1000", "growth", "allocs at 10", "100", "1000", "KiB at 10", "100", "1000"}}
	for _, p := range r.peers("loop") {
		ten, hundred, thousand := r.turn(p, 10), r.turn(p, 100), r.turn(p, 1000)
		ours := r.turn("ours", 1000)
		if o := r.find(p, "loop", "0"); o != nil && o.HTTP {
			ours = r.turn("ours (HTTP)", 1000)
		}
		t.row(label(p, r), of(r.find(p, "loop", "0"), 1e3, cpu), of(ten, 1e3, cpu), of(hundred, 1e3, cpu), of(thousand, 1e3, cpu), times(thousand, ours, cpu), times(thousand, ten, cpu),
			of(ten, 1, allocs), of(hundred, 1, allocs), of(thousand, 1, allocs), of(ten, 1024, size), of(hundred, 1024, size), of(thousand, 1024, size))
	}
	return t.String()
}

// label marks those whose model is played through HTTP.
func label(peer string, r Report) string {
	if o := r.find(peer, "loop", "0"); o != nil && o.HTTP && !strings.Contains(peer, "HTTP") {
		return peer + " (HTTP)"
	}
	return peer
}

func (r Report) wire() string {
	t := table{{"", "API", "agent: ns CPU", "× ours", "ns wall", "allocs", "bytes", "20,000 deltas: ns CPU", "bytes", "flushed: ns CPU", "client alone: ns CPU", "allocs", "first delta: µs"}}
	for _, p := range r.peers("wire") {
		agent, long := r.find(p, "wire", "agent burst 2000"), r.find(p, "wire", "agent burst 20000")
		flushed, client := r.find(p, "wire", "agent flush 2000"), r.find(p, "wire", "client burst 2000")
		api := "-"
		if agent != nil {
			api = agent.Wire
		}
		t.row(p, api, of(agent, 1, cpu), times(agent, r.find("ours", "wire", "agent burst 2000"), cpu), of(agent, 1, wall), of(agent, 1, allocs), of(agent, 1, size),
			of(long, 1, cpu), of(long, 1, size), of(flushed, 1, cpu), of(client, 1, cpu), of(client, 1, allocs), of(r.find(p, "first", "agent"), 1e3, wall))
	}
	return t.String()
}

func (r Report) crowd() string {
	t := table{{"", "wall ms", "× ideal (220)", "CPU ms", "peak MiB", "before MiB", "goroutines"}}
	for _, p := range r.peers("crowd") {
		o := r.find(p, "crowd", "1000")
		if o == nil {
			t.row(label(p, r), "failed", "", "", "", "", "")
			continue
		}
		t.row(label(p, r), number(o.Wall/1e6), number(o.Wall/220e6)+"x", number(o.CPU/1e6), number(o.PeakRSS), number(o.Before), number(float64(o.Goroutines)))
	}
	return t.String()
}

func (r Report) build() string {
	t := table{{"", "tools shared: µs", "bytes", "allocs", "retained bytes", "ten tools built: µs", "KiB", "allocs", "retained KiB"}}
	retained := func(r *harness.Result) float64 { return r.Retained }
	for _, p := range r.peers("build") {
		s, o := r.find(p, "build", "shared"), r.find(p, "build", "own")
		t.row(p, of(s, 1e3, cpu), of(s, 1, size), of(s, 1, allocs), of(s, 1, retained), of(o, 1e3, cpu), of(o, 1024, size), of(o, 1, allocs), of(o, 1024, retained))
	}
	return t.String()
}

func (r Report) size() string {
	t := table{{"", "stripped MB", "modules linked", "start to exit ms"}}
	for _, p := range r.peers("size") {
		o := r.find(p, "size", "minimal")
		if o == nil {
			t.row(p, "failed", "", "")
			continue
		}
		t.row(p, fmt.Sprintf("%.1f", o.Size), fmt.Sprint(o.Modules), number(o.Wall/1e6))
	}
	return t.String()
}
