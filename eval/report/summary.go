package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/openagent-go/agent/eval"
)

// JSON writes the statistics of a report as one JSON object: those of each variant, tag and
// case, the differences from the first variant, and the trials with errors. [Save] writes the
// report itself.
func JSON(w io.Writer, r *eval.Report) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(summarize(r)); err != nil {
		return fmt.Errorf("writing the statistics of suite %q: %w", r.Suite, err)
	}
	return nil
}

// A summary has the statistics of a report.
type summary struct {
	Suite    string    `json:"suite"`
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended"`
	Stopped  string    `json:"stopped,omitempty"`
	Trials   int       `json:"trials"`
	Variants []variant `json:"variants"`
	Tags     []tag     `json:"tags,omitempty"`
	Cases    []caseOf  `json:"cases"`
	// Differences compares each further variant with the first one.
	Differences []difference `json:"differences,omitempty"`
	Errors      []failure    `json:"errors,omitempty"`
}

type variant struct {
	Name string `json:"name"`
	figures
}

// A tag has the statistics of the cases with a tag.
type tag struct {
	Name     string    `json:"name"`
	Variants []variant `json:"variants"`
}

// A caseOf has the pass rate of a case, in the order of the summary's variants.
type caseOf struct {
	Name     string   `json:"name"`
	Tags     []string `json:"tags,omitempty"`
	Variants []Rate   `json:"variants"`
}

// A failure is a trial without grades.
type failure struct {
	Case       string `json:"case"`
	Variant    string `json:"variant"`
	Repetition int    `json:"repetition"`
	Error      string `json:"error"`
}

func summarize(r *eval.Report) *summary {
	x := indexOf(r)
	s := &summary{Suite: r.Suite, Started: r.Started, Ended: r.Ended, Stopped: r.Stopped, Trials: len(r.Trials), Variants: []variant{}, Cases: []caseOf{}}
	for _, v := range x.variants {
		s.Variants = append(s.Variants, variant{v, figuresOf(x.trialsOf(v, x.cases))})
	}
	for _, name := range x.tags {
		t := tag{Name: name}
		for _, v := range x.variants {
			t.Variants = append(t.Variants, variant{v, figuresOf(x.trialsOf(v, x.tagged[name]))})
		}
		s.Tags = append(s.Tags, t)
	}
	for _, name := range x.cases {
		c := caseOf{Name: name, Tags: x.tagsOf[name]}
		for _, v := range x.variants {
			c.Variants = append(c.Variants, rateOf([]tally{count(x.trials[v][name])}))
		}
		s.Cases = append(s.Cases, c)
	}
	if len(x.variants) > 1 {
		for _, v := range x.variants[1:] {
			s.Differences = append(s.Differences, differenceOf(x, x.variants[0], x, v))
		}
	}
	for i := range r.Trials {
		if t := &r.Trials[i]; t.Error != "" {
			s.Errors = append(s.Errors, failure{t.Case, t.Variant, t.Repetition, t.Error})
		}
	}
	return s
}

// An index finds the trials of a report.
type index struct {
	variants, cases, tags []string
	tagged                map[string][]string                 // cases by tag
	tagsOf                map[string][]string                 // tags by case
	trials                map[string]map[string][]*eval.Trial // by variant and case
}

// indexOf returns an index of a report. Names that only trials have come last.
func indexOf(r *eval.Report) *index {
	x := &index{tagged: map[string][]string{}, tagsOf: map[string][]string{}, trials: map[string]map[string][]*eval.Trial{}}
	known := map[string]bool{}
	addVariant := func(name string) {
		if x.trials[name] == nil {
			x.trials[name] = map[string][]*eval.Trial{}
			x.variants = append(x.variants, name)
		}
	}
	addCase := func(name string) {
		if !known[name] {
			known[name] = true
			x.cases = append(x.cases, name)
		}
	}
	for _, name := range r.Variants {
		addVariant(name)
	}
	for _, name := range r.Cases {
		addCase(name)
	}
	for i := range r.Trials {
		t := &r.Trials[i]
		addVariant(t.Variant)
		addCase(t.Case)
		x.trials[t.Variant][t.Case] = append(x.trials[t.Variant][t.Case], t)
		for _, tag := range t.Tags {
			if !slices.Contains(x.tagsOf[t.Case], tag) {
				x.tagsOf[t.Case] = append(x.tagsOf[t.Case], tag)
				x.tagged[tag] = append(x.tagged[tag], t.Case)
			}
		}
	}
	for name := range x.tagged {
		x.tags = append(x.tags, name)
	}
	slices.Sort(x.tags)
	return x
}

// trialsOf returns the trials of a variant by case.
func (x *index) trialsOf(variant string, cases []string) [][]*eval.Trial {
	list := make([][]*eval.Trial, len(cases))
	for i, c := range cases {
		list[i] = x.trials[variant][c]
	}
	return list
}
