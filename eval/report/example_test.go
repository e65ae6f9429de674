package report_test

import (
	"fmt"
	"os"

	"github.com/openagent-go/agent/eval"
	"github.com/openagent-go/agent/eval/report"
)

// trials returns a trial for each case of a suite. Those of the first n cases passed.
func trials(n int) (list []eval.Trial) {
	for i := range 20 {
		list = append(list, eval.Trial{Case: fmt.Sprintf("case %02d", i+1), Variant: "agent", Repetition: 1, Passed: i < n, Turns: 3, CostUSD: 0.02, CostKnown: true})
	}
	return list
}

func ExamplePassRate() {
	r := report.PassRate(trials(18))
	fmt.Printf("%.0f%% pass, %.0f%% to %.0f%% with 95%% confidence\n", 100*r.Value, 100*r.Low, 100*r.High)
	// Output: 90% pass, 70% to 97% with 95% confidence
}

func ExampleCompare() {
	before := &eval.Report{Suite: "billing", Trials: trials(18)}
	after := &eval.Report{Suite: "billing", Trials: trials(9)}
	c, err := report.Compare(before, after)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(c.Worse()), "cases are worse; beyond chance:", c.Significant())
	// Output: 9 cases are worse; beyond chance: true
}

func ExampleHTML() {
	r, err := report.Load("results")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := report.HTML(os.Stdout, r); err != nil {
		fmt.Println(err)
	}
}
