package report

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/openagent-go/agent/eval"
)

// A Comparison says what is better and what is worse in a new report than in an old one.
type Comparison struct {
	old, new *eval.Report
	c        comparison
}

// A comparison is what a Comparison is as JSON.
type comparison struct {
	Old         string       `json:"old"` // suite
	New         string       `json:"new"` // suite
	Differences []difference `json:"differences"`
	OnlyOld     []string     `json:"only_old,omitempty"` // variants that are not compared
	OnlyNew     []string     `json:"only_new,omitempty"`
	// Worse is whether a variant got worse beyond chance.
	Worse bool `json:"worse"`
}

// Compare compares the variants of the same name. If no name is the same and each report has
// one variant, it compares these. Only cases that both reports have count. Without any of them
// there is nothing to compare, and it fails.
func Compare(old, new *eval.Report) (*Comparison, error) {
	a, b := indexOf(old), indexOf(new)
	c := comparison{Old: old.Suite, New: new.Suite, Differences: []difference{}}
	for _, v := range b.variants {
		if a.trials[v] == nil {
			c.OnlyNew = append(c.OnlyNew, v)
			continue
		}
		c.Differences = append(c.Differences, differenceOf(a, v, b, v))
	}
	for _, v := range a.variants {
		if b.trials[v] == nil {
			c.OnlyOld = append(c.OnlyOld, v)
		}
	}
	if len(a.variants) == 1 && len(b.variants) == 1 && len(c.Differences) == 0 {
		c.Differences = append(c.Differences, differenceOf(a, a.variants[0], b, b.variants[0]))
		c.OnlyOld, c.OnlyNew = nil, nil
	}
	cases := 0
	for _, d := range c.Differences {
		cases += d.Cases
		c.Worse = c.Worse || d.Significant && d.Rate < 0
	}
	if cases == 0 {
		s := newPrinter()
		return nil, fmt.Errorf("the reports have no variant and case in common: the variants are %s in the old one and %s in the new one; choose one of each, and check that the suites are the same", s.names(a.variants), s.names(b.variants))
	}
	return &Comparison{old, new, c}, nil
}

// Worse returns the cases that pass less often than before, with the name of the variant if
// there are several.
func (c *Comparison) Worse() (cases []string) {
	for _, d := range c.c.Differences {
		for _, ch := range d.Worse {
			name := ch.Case
			if len(c.c.Differences) > 1 {
				name += " (" + d.New + ")"
			}
			cases = append(cases, name)
		}
	}
	return cases
}

// Significant reports whether a variant passes fewer cases than before, and chance alone would
// do so with a probability below 0.05.
func (c *Comparison) Significant() bool { return c.c.Worse }

// MarshalJSON returns the comparison as JSON: differences of rates, costs and turns, and the
// cases that are better, worse or only in one report.
func (c *Comparison) MarshalJSON() ([]byte, error) { return json.Marshal(c.c) }

// A difference is what changed from the trials of one variant to those of another. All its
// figures are of the cases that both have.
type difference struct {
	Old string `json:"old"` // variant
	New string `json:"new"` // variant

	Cases       int     `json:"cases"`
	OldRate     Rate    `json:"old_rate"`
	NewRate     Rate    `json:"new_rate"`
	Rate        float64 `json:"rate"`        // mean of the cases: new less old
	Low         float64 `json:"low"`         // lower limit of its 95 % confidence interval
	High        float64 `json:"high"`        // upper limit
	P           float64 `json:"p"`           // chance of such a difference if nothing changed
	Significant bool    `json:"significant"` // P is below 0.05

	Better    []change `json:"better,omitempty"`
	Worse     []change `json:"worse,omitempty"`
	Unchanged int      `json:"unchanged"`
	OnlyOld   []string `json:"only_old,omitempty"` // cases
	OnlyNew   []string `json:"only_new,omitempty"`

	OldFigures figures `json:"old_figures"`
	NewFigures figures `json:"new_figures"`
}

// A change is a case that passes more or less often than before.
type change struct {
	Case      string `json:"case"`
	OldPassed int    `json:"old_passed"`
	OldTrials int    `json:"old_trials"`
	NewPassed int    `json:"new_passed"`
	NewTrials int    `json:"new_trials"`
}

func differenceOf(a *index, before string, b *index, after string) difference {
	d := difference{Old: before, New: after}
	var both []string
	var old, new []tally
	for _, name := range a.cases {
		x, y := count(a.trials[before][name]), count(b.trials[after][name])
		switch {
		case x.trials == 0:
			continue // b has it, or nobody has
		case y.trials == 0:
			d.OnlyOld = append(d.OnlyOld, name)
			continue
		}
		both, old, new = append(both, name), append(old, x), append(new, y)
		c := change{name, x.passed, x.trials, y.passed, y.trials}
		switch sign := y.passed*x.trials - x.passed*y.trials; {
		case sign > 0:
			d.Better = append(d.Better, c)
		case sign < 0:
			d.Worse = append(d.Worse, c)
		default:
			d.Unchanged++
		}
	}
	for _, name := range b.cases {
		if len(b.trials[after][name]) > 0 && len(a.trials[before][name]) == 0 {
			d.OnlyNew = append(d.OnlyNew, name)
		}
	}
	d.Cases = len(both)
	d.OldRate, d.NewRate = rateOf(old), rateOf(new)
	d.Rate, d.Low, d.High = interval(old, new)
	d.P = signFlip(old, new)
	d.Significant = d.P < 0.05
	d.OldFigures, d.NewFigures = figuresOf(a.trialsOf(before, both)), figuresOf(b.trialsOf(after, both))
	return d
}

// interval returns the mean difference of the rates of paired cases and its 95 % confidence
// interval: R. G. Newcombe's method 10 ("Improved confidence intervals for the difference
// between binomial proportions based on paired data", Statistics in Medicine 17, 1998). It
// joins the Wilson intervals of both rates by their correlation. For cases with several trials
// the intervals are those of [PassRate] and the correlation is that of the cases' rates (the
// method of variance estimates recovery: G. Y. Zou and A. Donner, Statistics in Medicine 27, 2008).
func interval(old, new []tally) (d, low, high float64) {
	m := float64(len(old))
	if m == 0 {
		return 0, -1, 1
	}
	var x, y, xx, yy, xy float64
	for i := range old {
		p, q := old[i].rate(), new[i].rate()
		x, y, xx, yy, xy = x+p, y+q, xx+p*p, yy+q*q, xy+p*q
	}
	before, after := rateOf(old), rateOf(new)
	p, q := x/m, y/m
	l1, u1 := wilson(p, neff(old, before))
	l2, u2 := wilson(q, neff(new, after))
	corr := 0.0
	if scale := math.Sqrt(max(0, m*xx-x*x)) * math.Sqrt(max(0, m*yy-y*y)); scale > 1e-9 {
		s := m*xy - x*y
		if s > 0 {
			s = max(0, s-m/2) // Newcombe's correction for continuity
		}
		corr = min(max(s/scale, -1), 1)
	}
	d = q - p
	down := math.Sqrt(max(0, (q-l2)*(q-l2)-2*corr*(q-l2)*(u1-p)+(u1-p)*(u1-p)))
	up := math.Sqrt(max(0, (u2-q)*(u2-q)-2*corr*(u2-q)*(p-l1)+(p-l1)*(p-l1)))
	return d, max(-1, d-down), min(1, d+up)
}

func neff(cases []tally, r Rate) float64 {
	return effective(cases, tally{r.Passed, r.Trials})
}

// Bounds of the unit in which signFlip counts: maxSteps bounds its work.
const (
	maxSteps = 50_000_000
	minUnit  = 12
	maxUnit  = 10_000
)

// signFlip returns the probability of a difference of the rates as large as that of the
// paired cases if each of them could as well have gone the other way: Fisher's randomization
// test of paired samples ("The Design of Experiments", 1935), two-sided and exact. With one
// trial for each case it is McNemar's exact test.
func signFlip(old, new []tally) float64 {
	// The differences as multiples of a unit, in which all of them are whole numbers.
	unit, limit := 1, min(max(maxSteps/max(len(old)*len(old), 1), minUnit), maxUnit)
	for i := range old {
		unit = lcm(lcm(unit, old[i].trials, limit), new[i].trials, limit)
	}
	var steps []int
	observed, reach := 0, 0
	for i := range old {
		s := int(math.Round((new[i].rate() - old[i].rate()) * float64(unit)))
		observed += s
		if s = max(s, -s); s > 0 {
			steps = append(steps, s)
			reach += s
		}
	}
	// chance[reach+s] is the probability of the sum s.
	chance, next := make([]float64, 2*reach+1), make([]float64, 2*reach+1)
	chance[reach] = 1
	at := 0
	for _, s := range steps {
		clear(next)
		for i := reach - at; i <= reach+at; i++ {
			next[i-s] += chance[i] / 2
			next[i+s] += chance[i] / 2
		}
		at += s
		chance, next = next, chance
	}
	p := 0.0
	for i, c := range chance {
		if s := i - reach; max(s, -s) >= max(observed, -observed) {
			p += c
		}
	}
	return min(p, 1)
}

// lcm returns the least common multiple of positive numbers, or limit if that is less: the
// differences are rounded then.
func lcm(a, b, limit int) int {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	if a /= x; a > limit/b {
		return limit
	}
	return a * b
}
