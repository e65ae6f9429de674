// Package report keeps the figures of a comparison and shows them as tables and
// a plot.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/benchmarks/harness"
)

// A Report holds the figures of one run of all programs.
type Report struct {
	Date    string           `json:"date"`
	Machine string           `json:"machine"`
	Load    string           `json:"load,omitempty"` // of the machine when the run began
	Took    string           `json:"took"`
	Results []harness.Result `json:"results"`

	began time.Time
}

// New begins a report.
func New() Report {
	now := time.Now()
	load, _ := os.ReadFile("/proc/loadavg")
	one, _, _ := strings.Cut(string(load), " ")
	return Report{Date: now.Format(time.DateOnly), Machine: machine(), Load: one, began: now}
}

func machine() string {
	s := fmt.Sprintf("%s, %s/%s, %d CPUs", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "model name" {
			return s + " (" + strings.TrimSpace(value) + ")"
		}
	}
	return s
}

// Finish notes how long it took.
func (r *Report) Finish() { r.Took = time.Since(r.began).Round(time.Second).String() }

// Add takes in a result. Of two of one point the least of each figure stays, and
// an error of either.
func (r *Report) Add(n harness.Result) {
	i := slices.IndexFunc(r.Results, func(o harness.Result) bool {
		return o.Peer == n.Peer && o.Phase == n.Phase && o.Point == n.Point
	})
	if i < 0 {
		r.Results = append(r.Results, n)
		return
	}
	o := &r.Results[i]
	if n.Error != "" || o.Error != "" {
		o.Error = max(o.Error, n.Error)
		return
	}
	for _, f := range []struct{ old, new *float64 }{{&o.CPU, &n.CPU}, {&o.Wall, &n.Wall}, {&o.Allocs, &n.Allocs}, {&o.Bytes, &n.Bytes},
		{&o.PeakRSS, &n.PeakRSS}, {&o.Before, &n.Before}, {&o.Retained, &n.Retained}} {
		*f.old = min(*f.old, *f.new)
	}
	o.Goroutines = min(o.Goroutines, n.Goroutines)
	o.Samples += n.Samples
}

// Encode writes the report as JSON, a result a line.
func (r Report) Encode(w io.Writer) error {
	head := r
	head.Results = nil
	top, err := json.MarshalIndent(head, "", " ")
	if err != nil {
		return err
	}
	text := strings.TrimSuffix(string(top), "null\n}") + "[\n"
	for i, res := range r.Results {
		for _, f := range []*float64{&res.CPU, &res.Wall, &res.Allocs, &res.Bytes, &res.PeakRSS, &res.Before, &res.Retained, &res.Size} {
			*f = float64(int64(*f*1000)) / 1000
		}
		line, err := json.Marshal(res)
		if err != nil {
			return err
		}
		text += "  " + string(line)
		if i < len(r.Results)-1 {
			text += ","
		}
		text += "\n"
	}
	_, err = io.WriteString(w, text+" ]\n}\n")
	return err
}

// find returns the result of a point, nil if it was not measured or failed.
func (r Report) find(peer, phase, point string) *harness.Result {
	for i, o := range r.Results {
		if o.Peer == peer && o.Phase == phase && o.Point == point && o.Error == "" {
			return &r.Results[i]
		}
	}
	return nil
}

// peers returns the names of those that took part in a phase, in order.
func (r Report) peers(phase string) []string {
	var out []string
	for _, o := range r.Results {
		if o.Phase == phase && !slices.Contains(out, o.Peer) {
			out = append(out, o.Peer)
		}
	}
	return out
}

// turn returns what a turn costs in runs of so many, without what a run costs at
// its start and end.
func (r Report) turn(peer string, turns int) *harness.Result {
	none, some := r.find(peer, "loop", "0"), r.find(peer, "loop", fmt.Sprint(turns))
	if none == nil || some == nil {
		return nil
	}
	n := float64(turns)
	return &harness.Result{Peer: peer, CPU: (some.CPU - none.CPU) / n, Wall: (some.Wall - none.Wall) / n,
		Allocs: (some.Allocs - none.Allocs) / n, Bytes: (some.Bytes - none.Bytes) / n}
}
