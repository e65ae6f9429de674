package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/openagent-go/agent/eval"
)

// Published limits: R. G. Newcombe, "Two-sided confidence intervals for the single proportion",
// Statistics in Medicine 17, 1998, method 3.
func TestWilson(t *testing.T) {
	for _, c := range []struct {
		passed, trials int
		low, high      float64
	}{{81, 263, .2553, .3662}, {15, 148, .0624, .1605}, {0, 20, 0, .1611}, {1, 29, .0061, .1718}, {20, 20, .8389, 1}} {
		n := float64(c.trials)
		low, high := wilson(float64(c.passed)/n, n)
		if math.Abs(low-c.low) > .00005 || math.Abs(high-c.high) > .00005 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", c.passed, c.trials, low, high, c.low, c.high)
		}
	}
	if r := PassRate(nil); r != (Rate{High: 1}) {
		t.Errorf("no trials: %+v", r)
	}
}

// trials returns trials of cases, of which those numbers passed.
func trialsWith(repetitions int, passed ...int) (list []eval.Trial) {
	for c, n := range passed {
		for i := range repetitions {
			list = append(list, eval.Trial{Case: fmt.Sprint("case ", c), Variant: "v", Repetition: i + 1, Passed: i < n, CostKnown: true})
		}
	}
	return list
}

// An interval holds the rate and stays within 0 and 1, and repetitions say no more than as
// many cases, and no less than one trial for each case.
func TestIntervalProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		cases := make([]tally, 1+random.IntN(8))
		all := tally{}
		for i := range cases {
			n := 1 + random.IntN(6)
			cases[i] = tally{random.IntN(n + 1), n}
			all.passed += cases[i].passed
			all.trials += n
		}
		r := rateOf(cases)
		if !(0 <= r.Low && r.Low <= r.Value && r.Value <= r.High && r.High <= 1) {
			t.Fatalf("%v: %+v", cases, r)
		}
		if n := effective(cases, all); n < float64(len(cases)) && len(cases) > 1 || n > float64(all.trials) {
			t.Fatalf("%v count as %.1f trials", cases, n)
		}
	}
	width := func(r Rate) float64 { return r.High - r.Low }
	alike, single := PassRate(trialsWith(10, 10, 0, 10, 0, 10, 10)), PassRate(trialsWith(1, 1, 0, 1, 0, 1, 1))
	if math.Abs(width(alike)-width(single)) > .01 {
		t.Errorf("repetitions that are all alike give an interval of %.3f, single trials one of %.3f", width(alike), width(single))
	}
	if mixed := PassRate(trialsWith(10, 7, 6, 7, 6, 7, 7)); width(mixed) > width(alike)/2 {
		t.Errorf("independent repetitions give an interval of %.3f, repetitions that are alike one of %.3f", width(mixed), width(alike))
	}
}

// Intervals hold the true value in about 95 % of all evaluations.
func TestCoverage(t *testing.T) {
	const evaluations = 2000
	random := rand.New(rand.NewPCG(5, 6))
	for _, repetitions := range []int{1, 5} {
		rates, differences := 0, 0
		for range evaluations {
			old, new := make([]tally, 40), make([]tally, 40)
			for i := range old {
				// Hard and easy cases: on average .7, and .8 for the new variant.
				p := []float64{.3, .8, 1}[i*3/len(old)]
				if random.IntN(4) == 0 {
					p = .7
				}
				q := p + .1*math.Min(1, (1-p)*10)
				for range repetitions {
					old[i].add(random.Float64() < p)
					new[i].add(random.Float64() < q)
				}
			}
			truth, change := 0.0, 0.0
			for i := range old {
				p := []float64{.3, .8, 1}[i*3/len(old)]
				truth += (.75*p + .25*.7) / float64(len(old))
				change += (.75*.1*math.Min(1, (1-p)*10) + .25*.1) / float64(len(old))
			}
			if r := rateOf(old); r.Low <= truth && truth <= r.High {
				rates++
			}
			if _, low, high := interval(old, new); low <= change && change <= high {
				differences++
			}
		}
		t.Logf("%d repetitions: %.3f of the rates, %.3f of the differences", repetitions, float64(rates)/evaluations, float64(differences)/evaluations)
		if rates < evaluations*94/100 || differences < evaluations*94/100 {
			t.Errorf("%d repetitions: the intervals hold %d rates and %d differences of %d", repetitions, rates, differences, evaluations)
		}
	}
}

func (n *tally) add(passed bool) {
	n.trials++
	if passed {
		n.passed++
	}
}

// pass@k and pass^k are what counting all choices of k trials says.
func TestRepeated(t *testing.T) {
	for n := 1; n <= 6; n++ {
		for c := range n + 1 {
			for k := 1; k <= n; k++ {
				all, ever, always := 0, 0, 0
				for set := range 1 << n { // the first c trials passed
					size, good := 0, 0
					for i := range n {
						if set>>i&1 == 1 {
							size++
							if i < c {
								good++
							}
						}
					}
					if size != k {
						continue
					}
					all++
					if good > 0 {
						ever++
					}
					if good == k {
						always++
					}
				}
				if got, want := anyOf(c, n, k), float64(ever)/float64(all); math.Abs(got-want) > 1e-12 {
					t.Errorf("pass@%d of %d of %d is %v, want %v", k, c, n, got, want)
				}
				if got, want := allOf(c, n, k), float64(always)/float64(all); math.Abs(got-want) > 1e-12 {
					t.Errorf("pass^%d of %d of %d is %v, want %v", k, c, n, got, want)
				}
			}
		}
	}
}

// With one trial for each case it is McNemar's exact test.
func TestSignFlipIsMcNemar(t *testing.T) {
	for b := range 12 {
		for c := range 12 {
			var old, new []tally
			for range b {
				old, new = append(old, tally{1, 1}), append(new, tally{0, 1})
			}
			for range c {
				old, new = append(old, tally{0, 1}), append(new, tally{1, 1})
			}
			old, new = append(old, tally{1, 1}), append(new, tally{1, 1})
			tail := 0.0
			for i := range min(b, c) + 1 {
				tail += binomial(b+c, i)
			}
			want := math.Min(1, 2*tail/math.Pow(2, float64(b+c)))
			if got := signFlip(old, new); math.Abs(got-want) > 1e-9 {
				t.Errorf("%d worse and %d better: p = %v, want %v", b, c, got, want)
			}
		}
	}
}

func binomial(n, k int) float64 {
	p := 1.0
	for i := range k {
		p *= float64(n-i) / float64(i+1)
	}
	return p
}

// With repetitions, p is the share of all ways to flip cases.
func TestSignFlipCountsAllWays(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		old, new := make([]tally, 1+random.IntN(9)), []tally{}
		for i := range old {
			n, m := 1+random.IntN(5), 1+random.IntN(5)
			old[i] = tally{random.IntN(n + 1), n}
			new = append(new, tally{random.IntN(m + 1), m})
		}
		observed := 0.0
		for i := range old {
			observed += new[i].rate() - old[i].rate()
		}
		hits := 0
		for set := range 1 << len(old) {
			sum := 0.0
			for i := range old {
				d := new[i].rate() - old[i].rate()
				if set>>i&1 == 1 {
					d = -d
				}
				sum += d
			}
			if math.Abs(sum) >= math.Abs(observed)-1e-9 {
				hits++
			}
		}
		if got, want := signFlip(old, new), float64(hits)/float64(int(1)<<len(old)); math.Abs(got-want) > 1e-9 {
			t.Fatalf("%v to %v: p = %v, want %v", old, new, got, want)
		}
	}
}

// Numbers of trials without a small common multiple, and many cases, neither overflow nor take
// long.
func TestSignFlipIsBounded(t *testing.T) {
	var old, new []tally
	for i := range 3000 {
		n := 1 + i%97
		old, new = append(old, tally{n / 3, n}), append(new, tally{n / 2, n})
	}
	begin := time.Now()
	if p := signFlip(old, new); p < 0 || p > 1e-6 {
		t.Errorf("p = %v", p)
	}
	if p := signFlip([]tally{{1, 999_983}}, []tally{{999_979, 999_979}}); p != 1 {
		t.Errorf("one case: p = %v", p)
	}
	t.Log(time.Since(begin))
}

// The interval of a difference is within -1 and 1 and holds the difference, and comparing the
// other way round mirrors it.
func TestDifferenceProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for range 5000 {
		old, new := make([]tally, random.IntN(12)), []tally{}
		for i := range old {
			n, m := 1+random.IntN(3), 1+random.IntN(3)
			old[i] = tally{random.IntN(n + 1), n}
			new = append(new, tally{random.IntN(m + 1), m})
		}
		d, low, high := interval(old, new)
		if !(-1 <= low && low <= d+1e-12 && d-1e-12 <= high && high <= 1) {
			t.Fatalf("%v to %v: %v in %v to %v", old, new, d, low, high)
		}
		if e, l, h := interval(new, old); math.Abs(d+e) > 1e-12 || math.Abs(low+h) > 1e-9 || math.Abs(high+l) > 1e-9 {
			t.Fatalf("%v to %v: %v to %v, but the other way %v to %v", old, new, low, high, l, h)
		}
		if p := signFlip(old, new); p < 0 || p > 1 || math.Abs(p-signFlip(new, old)) > 1e-9 {
			t.Fatalf("%v to %v: p = %v", old, new, p)
		}
	}
}

// Newcombe's method 10 from the four counts of a paired table, as he writes it.
func TestDifferenceIsNewcombe(t *testing.T) {
	for _, c := range [][4]float64{{36, 12, 2, 0}, {20, 4, 9, 17}, {0, 5, 5, 0}, {40, 0, 0, 10}, {30, 8, 1, 11}} {
		a, b, cc, d := c[0], c[1], c[2], c[3] // both passed, only the new one, only the old one, none
		var old, new []tally
		for i, n := range c {
			for range int(n) {
				old = append(old, tally{[]int{1, 0, 1, 0}[i], 1})
				new = append(new, tally{[]int{1, 1, 0, 0}[i], 1})
			}
		}
		n := a + b + cc + d
		q, p := (a+b)/n, (a+cc)/n
		l2, u2 := wilson(q, n)
		l1, u1 := wilson(p, n)
		phi := 0.0
		if m := (a + b) * (cc + d) * (a + cc) * (b + d); m > 0 {
			e := a*d - b*cc
			if e > n/2 {
				e -= n / 2
			} else if e > 0 {
				e = 0
			}
			phi = e / math.Sqrt(m)
		}
		low := q - p - math.Sqrt((q-l2)*(q-l2)-2*phi*(q-l2)*(u1-p)+(u1-p)*(u1-p))
		high := q - p + math.Sqrt((u2-q)*(u2-q)-2*phi*(u2-q)*(p-l1)+(p-l1)*(p-l1))
		_, gotLow, gotHigh := interval(old, new)
		if math.Abs(gotLow-low) > 1e-9 || math.Abs(gotHigh-high) > 1e-9 {
			t.Errorf("%v: %v to %v, want %v to %v", c, gotLow, gotHigh, low, high)
		}
	}
}

// Trials with errors count as failed, also if they claim to have passed, and do not change the
// figures of turns and times. A cost without a price makes the sum a lower limit.
func TestFigures(t *testing.T) {
	list := []*eval.Trial{
		{Case: "a", Passed: true, Turns: 2, ToolCalls: 3, Duration: 10 * time.Second, CostUSD: .5, CostKnown: true},
		{Case: "a", Turns: 4, Duration: 30 * time.Second, CostUSD: .25, CostKnown: true},
		{Case: "a", Passed: true, Error: "no provider", CostKnown: true},
	}
	f := figuresOf([][]*eval.Trial{list, nil})
	if f.Cases != 1 || f.Rate.Passed != 1 || f.Rate.Trials != 3 || f.Errors != 1 || f.TurnsMean != 3 || f.CallsMean != 1.5 || f.TimeMedian != 10*time.Second || f.Time90 != 30*time.Second || f.CostUSD != .75 || f.CostMean != .25 || !f.CostKnown {
		t.Errorf("%+v", f)
	}
	if len(f.Repeated) != 2 || f.Repeated[1].All != 0 || f.Repeated[1].Any != 1 {
		t.Errorf("%+v", f.Repeated)
	}
	list[1].CostKnown, list[2].CostUSD = false, math.Inf(1)
	if f = figuresOf([][]*eval.Trial{list}); f.CostKnown || math.IsInf(f.CostUSD, 0) || cost(f.CostUSD, f.CostKnown)[:8] != "at least" {
		t.Errorf("%+v", f)
	}
}

// Costs are readable from thousandths of a cent to thousands of dollars.
func TestCost(t *testing.T) {
	for _, c := range []struct {
		usd   float64
		known bool
		want  string
	}{{0, true, "$0.00"}, {0, false, "unknown"}, {0.00002, true, "<$0.0001"}, {0.0123, true, "$0.0123"}, {12.345, true, "$12.35"}, {0.5, false, "at least $0.5000"}} {
		if got := cost(c.usd, c.known); got != c.want {
			t.Errorf("%v: %s, want %s", c.usd, got, c.want)
		}
	}
}
