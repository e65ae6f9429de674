package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/eval"
	"github.com/openagent-go/agent/llm"
)

var began = time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC)

// sample returns a report of a suite with two variants. The second one passes more often.
func sample(cases, repetitions int) *eval.Report {
	random := rand.New(rand.NewPCG(1, 2))
	r := &eval.Report{Suite: "billing", Started: began, Ended: began.Add(12*time.Minute + 3*time.Second), Variants: []string{"claude-haiku-4-5", "claude-haiku-4-5 with memory"}}
	words := []string{"rounding", "refund", "invoice number", "VAT of two countries", "leap year"}
	for i := range cases {
		name := fmt.Sprintf("%s %02d", words[i%len(words)], i+1)
		r.Cases = append(r.Cases, name)
		tags := []string{[]string{"parsing", "money"}[i%2]}
		for v, variant := range r.Variants {
			for n := range repetitions {
				t := eval.Trial{Case: name, Variant: variant, Repetition: n + 1, Tags: tags, End: "completed", Started: began.Add(time.Duration(i) * time.Second),
					Duration: time.Duration(4+random.IntN(40)) * time.Second, Prompts: 1, Turns: 3 + random.IntN(6), CostUSD: 0.01 + random.Float64()/50, CostKnown: true,
					Usage:  llm.Usage{Input: 900 + random.IntN(500), CacheRead: 12000, Output: 400 + random.IntN(300)},
					Answer: "The total is now rounded once, after the taxes are added.\n\nI ran the tests: all of them pass.",
					Tools:  []string{"Read", "Grep", "Edit", "Bash", "Bash"}, Session: "01J9ZQ4S8M"}
				t.ToolCalls = len(t.Tools)
				ok := random.Float64() < []float64{0.7, 0.92}[v]
				t.Passed = ok
				t.Grades = []eval.Grade{{Grader: "go test", Kind: "command", Passed: true, Score: 1}, {Grader: "explains the change", Kind: "judge", Passed: ok, Score: map[bool]float64{true: 0.9, false: 0.3}[ok], Detail: "The answer names the function."}}
				if !ok {
					t.Grades[0] = eval.Grade{Grader: "go test", Kind: "command", Detail: "exit code 1\n--- FAIL: TestTotal (0.00s)\n    total_test.go:21: total(3 × 19.99) = 59.96, want 59.97\nFAIL"}
					t.Grades[1].Detail = "The answer does not say which rounding is used."
				}
				r.Trials = append(r.Trials, t)
			}
		}
	}
	last := &r.Trials[len(r.Trials)-1]
	*last = eval.Trial{Case: last.Case, Variant: last.Variant, Repetition: last.Repetition, Tags: last.Tags, Error: "the setup failed: exit code 127: npm: command not found", CostKnown: true}
	return r
}

// text writes something as text.
func textOf(t *testing.T, write func(*strings.Builder) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func htmlOf(t *testing.T, r *eval.Report) string {
	t.Helper()
	return textOf(t, func(b *strings.Builder) error { return HTML(b, r) })
}

func compared(t *testing.T, old, new *eval.Report) *Comparison {
	t.Helper()
	c, err := Compare(old, new)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
