package client_test

import (
	"context"
	"fmt"

	"github.com/openagent-go/agent/client"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A program asks whether the agent may call a tool, and prints its answer.
func ExampleStart() {
	ctx := context.Background()
	s, err := client.Start(ctx, client.Options{
		Dir: "/work/project",
		CanUseTool: func(_ context.Context, call tool.Call, why permission.Decision) (permission.Decision, error) {
			fmt.Printf("%s %s (%s)? ", call.Name, call.Input, why.Reason)
			var answer string
			fmt.Scanln(&answer)
			if answer == "y" {
				return permission.Allow(), nil
			}
			return permission.Deny("the user refused"), nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for m, err := range s.Prompt(ctx, "Run the tests and fix what fails.") {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch {
		case m.Type == "assistant":
			fmt.Println(m.Text())
		case m.Result != nil && m.Result.Err != nil:
			fmt.Println("failed:", m.Result.Err)
		}
	}
}
