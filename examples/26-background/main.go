// Background runs an agent in the background of a conversation. The first answer does not wait for
// it. With the second prompt the model learns the agent's result.
//
// Run it with: go run ./examples/26-background
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "background")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ws := &workspace.Workspace{Root: dir}
	defer ws.Close()

	manager := &subagent.Manager{}
	list := team.Memory()
	a := &agent.Agent{
		Model:       model(),
		Dir:         dir,
		Permissions: permission.Policy{Allow: []permission.Rule{"Bash(sleep *)"}},
		// TaskOutput shows how an agent stands, TaskStop ends it.
		Tools: append(tools.Core(ws), tools.Agent(manager), tools.TaskOutput(list, manager), tools.TaskStop(list, manager)),
	}
	s := a.Session("")
	defer s.Close() // ends what is still at work
	for _, prompt := range []string{"Run the slow check, and tell me a joke meanwhile.", "And the check?"} {
		res, err := s.Prompt(ctx, prompt)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n  at work: %d\n", res.Text, len(s.Children()))
		for len(s.Children()) > 0 { // a person reads the joke
			time.Sleep(10 * time.Millisecond)
		}
	}
	return nil
}
