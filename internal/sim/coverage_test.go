package sim

import (
	"fmt"
	"slices"
	"strings"
)

// A coverage counts which features took part in one program together.
type coverage struct {
	single  map[string]int
	pairs   map[[2]string]int
	triples map[[3]string]int
}

func newCoverage() *coverage {
	return &coverage{map[string]int{}, map[[2]string]int{}, map[[3]string]int{}}
}

func (c *coverage) add(met map[string]bool) {
	names := sorted(met)
	for i, a := range names {
		c.single[a]++
		for j, b := range names[i+1:] {
			c.pairs[[2]string{a, b}]++
			for _, d := range names[i+1+j+1:] {
				c.triples[[3]string{a, b, d}]++
			}
		}
	}
}

// exclusive are features that cannot take part in one program together.
var exclusive = [][]string{{"memory", "folder", "fault"}, {"anthropic", "openai", "responses"}}

// ofFault are features that only the faulty disk has.
var ofFault = []string{"killed at a change of files", "power loss", "disk full", "disk fails"}

func apart(a, b string) bool {
	elsewhere := func(s string) bool { return s == "memory" || s == "folder" }
	if elsewhere(a) && slices.Contains(ofFault, b) || elsewhere(b) && slices.Contains(ofFault, a) {
		return true
	}
	return slices.ContainsFunc(exclusive, func(group []string) bool { return slices.Contains(group, a) && slices.Contains(group, b) })
}

// String says how many pairs and triples of features were met, and which pairs never were.
func (c *coverage) String() string {
	var all []string
	for _, f := range features {
		all = append(all, f.meets...)
	}
	slices.Sort(all)
	pairs, met, triples, metTriples := 0, 0, 0, 0
	var never []string
	for i, a := range all {
		for j, b := range all[i+1:] {
			if apart(a, b) {
				continue
			}
			pairs++
			if c.pairs[[2]string{a, b}] > 0 {
				met++
			} else {
				never = append(never, a+" × "+b)
			}
			for _, d := range all[i+1+j+1:] {
				if apart(a, d) || apart(b, d) {
					continue
				}
				triples++
				if c.triples[[3]string{a, b, d}] > 0 {
					metTriples++
				}
			}
		}
	}
	percent := func(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
	out := fmt.Sprintf("%d features; %d of %d pairs met (%.1f %%), %d of %d triples (%.1f %%)\n", len(all), met, pairs, percent(met, pairs), metTriples, triples, percent(metTriples, triples))
	const most = 60
	if len(never) > 0 {
		out += fmt.Sprintf("%d pairs never met: %s", len(never), strings.Join(never[:min(most, len(never))], ", "))
		if len(never) > most {
			out += ", …"
		}
		out += "\n"
	}
	return out
}
