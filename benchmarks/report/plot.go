package report

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// The plot's size and the place of its axes, in pixels.
const (
	width, height = 830, 440
	left, right   = 64, 560
	top, bottom   = 48, 392
)

var colours = []string{"#0a7ea4", "#0a7ea4", "#8a8f98", "#8a8f98", "#c2571a", "#7a5cc0", "#2e8b57", "#c0392b", "#b8860b"}

// plot draws the CPU time of a turn over the number of turns, both on logarithmic
// axes, as an SVG picture for light and dark pages.
func (r Report) plot() string {
	peers := r.peers("loop")
	var lines [][3]float64
	var names []string
	most := 10.0
	for _, p := range peers {
		var l [3]float64
		for i, n := range turnCounts {
			if t := r.turn(p, n); t != nil && t.CPU > 0 {
				l[i] = t.CPU / 1e3
				most = max(most, l[i])
			}
		}
		if !slices.Contains(l[:], 0) {
			lines, names = append(lines, l), append(names, label(p, r))
		}
	}
	decades := math.Ceil(math.Log10(most) + 1) // from 0.1
	y := func(v float64) float64 {
		return bottom - (math.Log10(max(v, 0.1))+1)/decades*(bottom-top)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="13" role="img">
<title>CPU time of a turn over the number of turns of the run</title>
<style>text{fill:#57606a}.grid{stroke:#8b949e;stroke-opacity:.3}@media(prefers-color-scheme:dark){text{fill:#a8b1bb}}</style>
<text x="%d" y="24" font-size="15">CPU per turn (µs) over turns of the run, logarithmic</text>
`, width, height, left)
	for d := range int(decades) + 1 {
		v := math.Pow(10, float64(d)-1)
		fmt.Fprintf(&b, `<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			left, y(v), right, y(v), left-8, y(v)+4, number(v))
	}
	for i, n := range turnCounts {
		fmt.Fprintf(&b, `<line class="grid" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			x(i), top, x(i), bottom, x(i), bottom+20, number(float64(n)))
	}
	ends := make([]float64, len(lines))
	for i, l := range lines {
		ends[i] = y(l[2])
	}
	places := apart(ends, 16)
	for i, l := range lines {
		colour, dash, weight := colours[i%len(colours)], "", "1.8"
		if strings.HasSuffix(names[i], "(HTTP)") {
			dash = ` stroke-dasharray="6 4"`
		}
		if strings.HasPrefix(names[i], "ours") {
			weight = "3.2"
		}
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="%s"%s points="%.1f,%.1f %.1f,%.1f %.1f,%.1f"/>`+"\n",
			colour, weight, dash, x(0), y(l[0]), x(1), y(l[1]), x(2), y(l[2]))
		fmt.Fprintf(&b, `<line stroke="%s" x1="%.1f" y1="%.1f" x2="%d" y2="%.1f"/><text x="%d" y="%.1f" style="fill:%s">%s, %s</text>`+"\n",
			colour, x(2)+2, y(l[2]), right+22, places[i], right+26, places[i]+4, colour, html.EscapeString(names[i]), number(l[2]))
	}
	return b.String() + "</svg>\n"
}

var turnCounts = [3]int{10, 100, 1000}

// x is where the i-th number of turns stands.
func x(i int) float64 { return left + 20 + float64(i)*(right-left-30)/2 }

// apart moves places so far that each two are at least gap from each other, in
// their order.
func apart(places []float64, gap float64) []float64 {
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int(math.Copysign(1, places[a]-places[b])) })
	out := slices.Clone(places)
	for n := 1; n < len(order); n++ {
		out[order[n]] = max(out[order[n]], out[order[n-1]]+gap)
	}
	for n := len(order) - 1; n > 0; n-- {
		low := float64(bottom) - gap*float64(len(order)-1-n)
		out[order[n]] = min(out[order[n]], low)
		out[order[n-1]] = min(out[order[n-1]], out[order[n]]-gap)
	}
	return out
}
