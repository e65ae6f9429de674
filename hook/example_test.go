package hook_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/permission"
)

// A hook that keeps the agent from editing a file. Give it to Agent.Hooks. In a test, call
// its Func.
func ExampleHook() {
	guard := hook.Hook{
		On: hook.PreToolUse, Match: "Edit|Write",
		Func: func(ctx context.Context, in *hook.Input) (hook.Output, error) {
			if strings.Contains(string(in.Input), ".env") {
				return hook.Output{Permission: permission.Denied, Reason: "secrets stay as they are"}, nil
			}
			return hook.Output{}, nil
		},
	}
	for _, file := range []string{"main.go", ".env"} {
		out, err := guard.Func(context.Background(), &hook.Input{Event: hook.PreToolUse, Tool: "Edit", Input: []byte(`{"file_path": "` + file + `"}`)})
		fmt.Printf("%s: %t %q %v\n", file, out.Permission == permission.Denied, out.Reason, err)
	}
	// Output:
	// main.go: false "" <nil>
	// .env: true "secrets stay as they are" <nil>
}
