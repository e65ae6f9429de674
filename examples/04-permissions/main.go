// Permissions defines permission rules as data, and a callback for calls that no rule covers.
//
// Run it with: go run ./examples/04-permissions
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "permissions")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ws := &workspace.Workspace{Root: dir}
	defer ws.Close()

	a := &agent.Agent{
		Model: model(),
		Tools: []tool.Tool{tools.Bash(ws)},
		Dir:   dir,
		Permissions: permission.Policy{
			Allow: []permission.Rule{"Bash(touch *)"},
			Deny:  []permission.Rule{"Bash(rm *)"}, // beats everything, in every part of a command line
		},
		CanUseTool: func(ctx context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error) {
			if verdict.Behavior == permission.Allowed {
				return permission.Decision{}, nil // no opinion: leave it at that
			}
			fmt.Fprintf(out, "asked about %s\n", call.Input)
			return permission.Deny("not today"), nil
		},
	}
	res, err := a.Prompt(ctx, "Make notes.txt, remove it, and fetch example.com.")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, res.Text)
	for _, d := range res.Denials {
		fmt.Fprintf(out, "denied by %s: %s\n", d.Source, d.Tool)
	}
	return nil
}
