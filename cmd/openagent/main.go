// Command openagent runs an agent: one prompt for scripts, a conversation on a terminal. Run
// "openagent --help" for more.
package main

import (
	"context"
	"os"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/internal/environ"
)

func main() {
	_ = environ.Hide() // where it cannot be done, the sandbox hides this process
	os.Exit(execute(cli.NewIO(), os.Args[1:]))
}

// execute runs the program and returns its exit code.
func execute(h *cli.IO, args []string) int {
	ctx, stop := cli.WatchSignals(context.Background(), h)
	defer stop()
	defer sessionstore.Close(h)
	ctx = app.WithHookDepth(ctx, h)
	return h.Exit(ctx, root(h).Execute(ctx, args, func(page string) error { return h.Show(h.Wrap(page)) }))
}
