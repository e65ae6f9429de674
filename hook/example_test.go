package hook_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/permission"
)

// A Set calls your hooks. An agent does this for Agent.Hooks. You need it to test a
// hook, or to call hooks of your own moments.
func ExampleSet_Run() {
	hooks, err := hook.Compile([]hook.Hook{{
		On: hook.PreToolUse, Match: "Edit|Write",
		Func: func(ctx context.Context, in *hook.Input) (hook.Output, error) {
			if strings.Contains(string(in.Input), ".env") {
				return hook.Output{Permission: permission.Denied, Reason: "secrets stay as they are"}, nil
			}
			return hook.Output{}, nil
		},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, file := range []string{"main.go", ".env"} {
		out := hooks.Run(context.Background(), hook.Input{Event: hook.PreToolUse, Tool: "Edit", Input: []byte(`{"file_path": "` + file + `"}`)}, nil)
		fmt.Printf("%s: %t %q\n", file, out.Permission == permission.Denied, out.Reason)
	}
	// Output:
	// main.go: false ""
	// .env: true "secrets stay as they are"
}
