package tool_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/openagent-go/agent/tool"
)

// Func makes a tool of a function. The schema of its input comes from the type.
func ExampleFunc() {
	type place struct {
		City string `json:"city" jsonschema:"name of the city"`
		Unit string `json:"unit,omitempty" jsonschema:"C or F"`
	}
	weather := tool.Func(tool.Spec{
		Name:        "get_weather",
		Description: "Report the current weather in a city.",
		ReadOnly:    true, // runs beside other calls, and without asking
	}, func(ctx context.Context, in place) (string, error) {
		return "sunny in " + in.City, nil
	})

	ctx := context.Background()
	res, err := weather.Run(ctx, tool.Call{Name: "get_weather", Input: []byte(`{"city": "Paris"}`)})
	fmt.Println(res.Text(), err)
	_, err = weather.Run(ctx, tool.Call{Name: "get_weather", Input: []byte(`{"town": "Paris"}`)})
	var bad *tool.InputError // the model reads the problems and tries again
	fmt.Println("invalid input:", errors.As(err, &bad))
	// Output:
	// sunny in Paris <nil>
	// invalid input: true
}

// A long call reports its progress to the people who watch the run.
func ExampleProgress() {
	build := tool.Func(tool.Spec{Name: "build", Description: "Build the project."},
		func(ctx context.Context, in struct{}) (string, error) {
			tool.Progress(ctx, tool.Status{Text: "compiling 12 of 40", Percent: 30})
			return "built", nil
		})
	ctx := tool.WithProgress(context.Background(), func(s tool.Status) { fmt.Println(s.Text, s.Percent) })
	res, err := build.Run(ctx, tool.Call{Name: "build", Input: []byte(`{}`)})
	fmt.Println(res.Text(), err)
	// Output:
	// compiling 12 of 40 30
	// built <nil>
}
