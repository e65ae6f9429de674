package sim

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"
)

var (
	seeds     = flag.Int("seeds", 150, "how many programs to run")
	first     = flag.Uint64("seed", 0, "the first seed; 0: a random one")
	shrinking = flag.Duration("shrink", 20*time.Second, "how long to look for a shorter program that fails")
	only      = flag.String("with", "", "run only programs with this feature")
	during    = flag.Duration("for", 0, "run programs for so long, not a number of them")
)

// TestPrograms runs random programs.
func TestPrograms(t *testing.T) {
	base := *first
	if base == 0 {
		base = uint64(time.Now().UnixNano())
	}
	t.Logf("the first seed is %d", base)
	began, n, steps, met := time.Now(), 0, 0, newCoverage()
	more := func() bool {
		if *during > 0 {
			return time.Since(began) < *during
		}
		return n < *seeds
	}
	left := 0 // programs without the wanted feature
	for ; more(); n++ {
		p := generate(base + uint64(n))
		if *only != "" && !p.has(*only) {
			left++
			continue
		}
		t.Run("", func(t *testing.T) {
			out := run(t, p)
			steps += out.Steps
			met.add(out.Met)
			report(t, p, out)
		})
	}
	t.Logf("%d programs, %d steps\n%s", n-left, steps, met)
}

// report fails the test if a program has broken an invariant, and prints a short program that
// does so too.
func report(t *testing.T, p Program, out Outcome) {
	t.Helper()
	if len(out.Violations) == 0 {
		return
	}
	for _, v := range out.Violations {
		t.Errorf("seed %d: %s: %s", p.Seed, v.Invariant, v.Text)
	}
	small := shrink(t, p, out.Violations[0].Invariant, *shrinking)
	t.Logf("a short program that breaks %s:\n%s", out.Violations[0].Invariant, goCode(small))
	for _, line := range run(t, small).Trace {
		t.Log(line)
	}
}

// hold runs a program, which must break no invariant.
func hold(t *testing.T, p Program) {
	t.Helper()
	report(t, p, run(t, p))
}

// TestSameRun runs programs twice: one seed is one run, byte for byte.
func TestSameRun(t *testing.T) {
	base := *first
	if base == 0 {
		base = 1
	}
	for i := range min(*seeds, 40) {
		p := generate(base + uint64(i))
		t.Run("", func(t *testing.T) {
			a, b := run(t, p), run(t, p)
			if x, y := strings.Join(a.Trace, "\n"), strings.Join(b.Trace, "\n"); x != y {
				t.Errorf("seed %d runs in two ways: %s", p.Seed, difference(x, y))
			}
			if a.Journals != b.Journals {
				t.Errorf("seed %d writes two journals: %s", p.Seed, difference(a.Journals, b.Journals))
			}
		})
	}
}

// difference returns the first lines that differ.
func difference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			at := 0
			for at < min(len(x[i]), len(y[i])) && x[i][at] == y[i][at] {
				at++
			}
			around := func(s string) string { return s[max(0, at-200):min(len(s), at+200)] }
			return fmt.Sprintf("line %d has\n%s\nand\n%s", i+1, around(x[i]), around(y[i]))
		}
	}
	return fmt.Sprintf("%d and %d lines", len(x), len(y))
}
