package report

import (
	"fmt"

	"github.com/openagent-go/agent/benchmarks/harness"
)

// A target is a figure that this library is to reach. Its value is false where
// it was not measured.
type target struct {
	what  string
	most  float64
	unit  string
	phase string // of the comparison
	value func(Report) (float64, bool)
}

var targets = []target{
	{"CPU per turn, 10 turns", 15, "µs", "loop", perTurn(10, func(r Report) float64 { return r.turn("ours", 10).CPU / 1e3 })},
	{"CPU per turn, 1,000 turns", 15, "µs", "loop", perTurn(1000, func(r Report) float64 { return r.turn("ours", 1000).CPU / 1e3 })},
	{"allocations per turn, 10 turns", 100, "", "loop", perTurn(10, func(r Report) float64 { return r.turn("ours", 10).Allocs })},
	{"allocations per turn, 1,000 turns", 100, "", "loop", perTurn(1000, func(r Report) float64 { return r.turn("ours", 1000).Allocs })},
	{"growth of a turn's CPU, 10 to 1000 turns", 1.2, "x", "loop", perTurn(1000, func(r Report) float64 { return r.turn("ours", 1000).CPU / r.turn("ours", 10).CPU })},
	{"CPU per text delta, burst, socket to reader", 1, "µs", "wire", figure("ours", "wire", "agent burst 2000", cpu, 1e3)},
	{"allocations per text delta", 2, "", "wire", figure("ours", "wire", "agent burst 2000", allocs, 1)},
	{"bytes per delta, 20,000 against 2,000 deltas", 1.2, "x", "wire", growth},
	{"first delta: server's write to reader", 1000, "µs", "first", figure("ours", "first", "agent", wall, 1e3)},
	{"1,000 agents of 10 turns, 20 ms model", 320, "ms", "crowd", figure("ours", "crowd", "1000", wall, 1e6)},
	{"their peak memory", 80, "MiB", "crowd", memory("ours", "crowd", "1000")},
	{"agent with ten shared tools", 1, "µs", "build", figure("ours", "build", "shared", cpu, 1e3)},
	{"its bytes", 1536, "bytes", "build", figure("ours", "build", "shared", size, 1)},
	{"ten typed tools and an agent", 10, "µs", "build", figure("ours", "build", "own", cpu, 1e3)},
	{"minimal stripped program, Anthropic client", 10, "MB", "size", programSize},
	{"`openagent version`", 10, "ms", "command", figure("openagent", "command", "version", wall, 1e6)},
	{"first request of the command", 12 * 1024, "bytes", "command", figure("openagent", "command", "first request", size, 1)},
	{"memory of the command while it waits", 30, "MiB", "command", memory("openagent", "command", "idle")},
}

func perTurn(turns int, value func(Report) float64) func(Report) (float64, bool) {
	return func(r Report) (float64, bool) {
		if r.turn("ours", 10) == nil || r.turn("ours", turns) == nil {
			return 0, false
		}
		return value(r), true
	}
}

func figure(peer, phase, point string, of func(*harness.Result) float64, unit float64) func(Report) (float64, bool) {
	return func(r Report) (float64, bool) {
		o := r.find(peer, phase, point)
		if o == nil {
			return 0, false
		}
		return of(o) / unit, true
	}
}

func memory(peer, phase, point string) func(Report) (float64, bool) {
	return figure(peer, phase, point, func(o *harness.Result) float64 { return o.PeakRSS }, 1)
}

func programSize(r Report) (float64, bool) {
	return figure("ours", "size", "minimal", func(o *harness.Result) float64 { return o.Size }, 1)(r)
}

func growth(r Report) (float64, bool) {
	short, long := r.find("ours", "wire", "agent burst 2000"), r.find("ours", "wire", "agent burst 20000")
	if short == nil || long == nil {
		return 0, false
	}
	return long.Bytes / short.Bytes, true
}

func (r Report) targets() string {
	t := table{{"target", "at most", "measured", "", "command, in benchmarks/"}}
	for _, g := range targets {
		v, ok := g.value(r)
		measured, verdict := "-", ""
		if ok {
			measured, verdict = number(v)+suffix(g.unit), "met"
			if v > g.most {
				verdict = "**missed**"
			}
		}
		t.row(g.what, number(g.most)+suffix(g.unit), measured, verdict, fmt.Sprintf("`go run ./cmd/compare -peers ours -phases %s`", g.phase))
	}
	return t.String()
}

func suffix(unit string) string {
	if unit == "" || unit == "x" {
		return unit
	}
	return " " + unit
}
