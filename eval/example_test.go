package eval_test

import (
	"context"
	"fmt"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/eval"
	"github.com/openagent-go/agent/llm/llmtest"
)

func Example() {
	answer := "The build fails because a bracket is missing."
	suite := &eval.Suite{Name: "support", Cases: []eval.Case{{
		Name: "build", Prompts: []string{"Why does the build fail?"},
		Graders: []eval.Grader{
			eval.Answer(eval.Content{Contains: []string{"bracket"}}),
			eval.Trajectory(eval.TrajectoryRules{Turns: 2}),
			{Name: "short", Grade: func(_ context.Context, _ *eval.Place, t *eval.Trial) (eval.Grade, error) {
				return eval.Grade{Passed: len(t.Answer) < 100}, nil
			}},
		},
	}}}
	e := eval.Evaluation{Suite: suite, Variants: []eval.Variant{{Name: "scripted", Open: func(context.Context, *eval.Place) (*agent.Agent, error) {
		return &agent.Agent{Model: llmtest.Script(llmtest.Say(answer))}, nil
	}}}}
	report, err := e.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range report.Trials {
		fmt.Println(t.Case, t.Variant, t.Passed)
		for _, g := range t.Grades {
			fmt.Println("-", g.Grader, g.Passed)
		}
	}
	// Output:
	// build scripted true
	// - answer true
	// - trajectory true
	// - short true
}
