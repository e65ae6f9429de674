package report

import (
	"math"
	"slices"
	"time"

	"github.com/openagent-go/agent/eval"
	"github.com/openagent-go/agent/llm"
)

// A Rate is the share of trials that passed, with the limits of its 95 % confidence interval.
// Without trials it is 0, and the interval is everything from 0 to 1.
type Rate struct {
	Passed int     `json:"passed"` // trials that passed
	Trials int     `json:"trials"` // all trials
	Value  float64 `json:"value"`  // Passed / Trials
	Low    float64 `json:"low"`    // lower limit
	High   float64 `json:"high"`   // upper limit
}

// PassRate returns the pass rate of trials. Trials with an error count as failed.
//
// The interval is that of Wilson's score (E. B. Wilson, "Probable inference, the law of
// succession, and statistical inference", JASA 22, 1927). Repetitions of a case are alike, so
// they say less than as many cases: the interval counts effective trials, as surveys of groups
// do (L. Kish, "Survey Sampling", 1965, design effect; N. Dean and M. Pagano, "Evaluating
// confidence interval methods for binomial proportions in clustered surveys", J. Survey
// Statistics and Methodology 3, 2015). Trials of a single case are counted as they are.
func PassRate(trials []eval.Trial) Rate {
	var order []string
	cases := map[string][]*eval.Trial{}
	for i := range trials {
		t := &trials[i]
		if cases[t.Case] == nil {
			order = append(order, t.Case)
		}
		cases[t.Case] = append(cases[t.Case], t)
	}
	counts := make([]tally, len(order))
	for i, name := range order {
		counts[i] = count(cases[name])
	}
	return rateOf(counts)
}

// A tally counts the trials of one case.
type tally struct{ passed, trials int }

func (t tally) rate() float64 { return float64(t.passed) / float64(max(t.trials, 1)) }

// passed reports whether a trial passed. A trial with an error did not, even if its Passed is true.
func passed(t *eval.Trial) bool { return t.Passed && t.Error == "" }

func count(trials []*eval.Trial) (n tally) {
	for _, t := range trials {
		n.trials++
		if passed(t) {
			n.passed++
		}
	}
	return n
}

// rateOf returns the pass rate of cases.
func rateOf(cases []tally) Rate {
	var all tally
	for _, c := range cases {
		all.passed += c.passed
		all.trials += c.trials
	}
	r := Rate{Passed: all.passed, Trials: all.trials, Value: all.rate()}
	r.Low, r.High = wilson(r.Value, effective(cases, all))
	return r
}

// effective returns how many independent trials say as much as those of the cases: between
// the number of cases and that of trials.
func effective(cases []tally, all tally) float64 {
	m, n := float64(len(cases)), float64(all.trials)
	if m < 2 || m == n {
		return n
	}
	p, sum := all.rate(), 0.0
	for _, c := range cases {
		d := float64(c.passed) - p*float64(c.trials)
		sum += d * d
	}
	variance, simple := m/(m-1)*sum/(n*n), p*(1-p)/n
	if simple <= 0 {
		return m
	}
	return min(max(simple/max(variance, simple/n)*n, m), n)
}

// z is the quantile of the normal distribution that leaves 2.5 % on either side.
const z = 1.959963984540054

// wilson returns the limits of Wilson's score interval of a rate p of n trials.
func wilson(p, n float64) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, min(middle-half, p)), min(1, max(middle+half, p))
}

// anyOf returns pass@k: c of n trials passed, k of them are drawn, and this is the probability
// that at least one of the k passed (M. Chen and others, "Evaluating large language models trained on code", 2021).
func anyOf(c, n, k int) float64 { return 1 - allOf(n-c, n, k) }

// allOf returns pass^k: c of n trials passed, k of them are drawn, and this is the probability
// that all k passed (S. Yao and others, "τ-bench", 2024).
func allOf(c, n, k int) float64 {
	p := 1.0
	for i := range k {
		if c <= i {
			return 0
		}
		p *= float64(c-i) / float64(n-i)
	}
	return p
}

// quantile returns the smallest of the sorted values that at least the share q of them does
// not exceed, 0 without values.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(max(int(math.Ceil(q*float64(len(sorted)))), 1), len(sorted))-1]
}

// figures are the statistics of some trials of a variant.
type figures struct {
	Cases  int  `json:"cases"`
	Rate   Rate `json:"rate"`
	Errors int  `json:"errors"` // trials without grades; they count as failed
	// Repeated has an entry for each number of trials from 2 to the most of a case.
	Repeated []repeated `json:"repeated,omitempty"`

	CostUSD     float64       `json:"cost_usd"`
	CostMean    float64       `json:"cost_mean_usd"` // of a trial
	CostKnown   bool          `json:"cost_known"`    // false: the costs are lower limits
	TurnsMean   float64       `json:"turns_mean"`    // of the trials in which the agent ran, as what follows
	CallsMean   float64       `json:"tool_calls_mean"`
	TimeMedian  time.Duration `json:"duration_median"` // in nanoseconds
	Time90      time.Duration `json:"duration_p90"`    // in nanoseconds; nine of ten trials took no longer
	Usage       llm.Usage     `json:"usage"`
	InputTokens int           `json:"input_tokens"` // with those of the cache
}

// repeated says how reliably cases pass if each is tried k times.
type repeated struct {
	K     int     `json:"k"`
	Cases int     `json:"cases"`      // with at least k trials
	Any   float64 `json:"pass_any_k"` // pass@k: the chance that one of k trials passes, the mean of the cases
	All   float64 `json:"pass_all_k"` // pass^k: the chance that all of k trials pass
}

// figuresOf returns the statistics of trials, which come by case.
func figuresOf(cases [][]*eval.Trial) figures {
	f := figures{CostKnown: true}
	var counts []tally
	var times []time.Duration
	var turns, calls float64
	all := 0
	for _, trials := range cases {
		if len(trials) == 0 {
			continue
		}
		counts = append(counts, count(trials))
		for _, t := range trials {
			all++
			f.CostUSD += dollars(t.CostUSD)
			f.CostKnown = f.CostKnown && t.CostKnown
			f.Usage = f.Usage.Add(t.Usage)
			if t.Error != "" {
				f.Errors++
				if t.Turns == 0 {
					continue // the agent did not run
				}
			}
			turns += float64(max(t.Turns, 0))
			calls += float64(max(t.ToolCalls, 0))
			times = append(times, max(t.Duration, 0))
		}
	}
	f.Cases, f.Rate = len(counts), rateOf(counts)
	f.Repeated = repeatedOf(counts)
	f.CostUSD = dollars(f.CostUSD)
	f.CostMean = f.CostUSD / float64(max(all, 1))
	f.TurnsMean, f.CallsMean = turns/float64(max(len(times), 1)), calls/float64(max(len(times), 1))
	slices.Sort(times)
	f.TimeMedian, f.Time90 = quantile(times, 0.5), quantile(times, 0.9)
	f.InputTokens = f.Usage.Context()
	return f
}

// maxK bounds for how many numbers of trials there are figures.
const maxK = 100

func repeatedOf(counts []tally) (list []repeated) {
	most := 0
	for _, c := range counts {
		most = max(most, c.trials)
	}
	for k := 2; k <= min(most, maxK); k++ {
		r := repeated{K: k}
		for _, c := range counts {
			if c.trials >= k {
				r.Cases++
				r.Any += anyOf(c.passed, c.trials, k)
				r.All += allOf(c.passed, c.trials, k)
			}
		}
		r.Any /= float64(r.Cases)
		r.All /= float64(r.Cases)
		list = append(list, r)
	}
	return list
}

// maxDollars bounds costs, so that their sums are numbers.
const maxDollars = 1e12

// dollars returns a cost that can be added up: no negative one, none beyond all bounds.
func dollars(usd float64) float64 {
	if usd > 0 {
		return min(usd, maxDollars)
	}
	return 0
}
