// Evaluation compares two instructions of an agent by the same cases, each run twice, and counts how
// many trials pass.
//
// Run it with: go run ./examples/41-evaluation
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/eval"
)

// suite has two cases. A folder of files can hold cases as well: see eval.Load.
func suite() *eval.Suite {
	brief := eval.Grader{Name: "brief", Grade: func(_ context.Context, _ *eval.Place, t *eval.Trial) (eval.Grade, error) {
		return eval.Grade{Passed: len(t.Answer) <= 40, Detail: fmt.Sprintf("%d characters", len(t.Answer))}, nil
	}}
	return &eval.Suite{Name: "capitals", Repetitions: 2, Cases: []eval.Case{
		{Name: "france", Prompts: []string{"What is the capital of France?"}, Graders: []eval.Grader{eval.Answer(eval.Content{Contains: []string{"Paris"}}), brief}},
		{Name: "japan", Prompts: []string{"What is the capital of Japan?"}, Graders: []eval.Grader{eval.Answer(eval.Content{Contains: []string{"Tokyo"}}), brief}},
	}}
}

// variant is an agent with some instructions.
func variant(name, system string) eval.Variant {
	return eval.Variant{Name: name, Open: func(context.Context, *eval.Place) (*agent.Agent, error) {
		return &agent.Agent{Model: model(), System: system}, nil
	}}
}

func main() {
	e := eval.Evaluation{Suite: suite(), BudgetUSD: 1, Variants: []eval.Variant{
		variant("plain", "Answer the question."),
		variant("brief", "Answer the question in one sentence of at most five words."),
	}}
	report, err := e.Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	passed := map[string]int{}
	for _, t := range report.Trials {
		if t.Passed {
			passed[t.Variant]++
			continue
		}
		for _, g := range t.Grades {
			if !g.Passed {
				fmt.Fprintf(os.Stdout, "%s, %s, repetition %d: %s: %s\n", t.Case, t.Variant, t.Repetition, g.Grader, g.Detail)
			}
		}
	}
	for _, name := range report.Variants {
		fmt.Fprintf(os.Stdout, "%s: %d of %d passed\n", name, passed[name], len(report.Trials)/len(report.Variants))
	}
}
