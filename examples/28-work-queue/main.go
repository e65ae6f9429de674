// Work-queue lets three agents take tasks from one list until it is empty. Each takes the oldest
// task that is ready. A task belongs to one agent at a time, and the last task starts when those it
// depends on are done.
//
// Run it with: go run ./examples/28-work-queue
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	list := team.Memory()
	manager := &subagent.Manager{Turns: 50}
	a := &agent.Agent{
		Model: model(),
		Tools: []tool.Tool{tools.Agent(manager), tools.TaskCreate(list), tools.TaskList(list), tools.TaskUpdate(list), claim(list)},
	}
	s := a.Session("")
	defer s.Close()
	res, err := s.Prompt(ctx, "Work off the list with three workers.")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, res.Text)
	tasks, err := list.Tasks(ctx, s.ID)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		fmt.Fprintf(out, "  %s: %s, %s\n", t.ID, t.Subject, t.Status)
	}
	return nil
}

// claim is a tool of our own: it takes the next task for the agent that calls it.
func claim(list *team.Store) tool.Tool {
	return tool.New(tool.Spec{Name: "Claim", Description: "Takes the next task of the list for you, or says that there is none."},
		func(ctx context.Context, call tool.Call, _ struct{}) (*tool.Result, error) {
			t, err := list.Claim(ctx, cmp.Or(call.Root, call.Session), call.Agent, 0)
			if err != nil {
				return tool.Text("none: " + err.Error()), nil
			}
			return tool.Text(fmt.Sprintf("%s: %s", t.ID, t.Subject)), nil
		}).OnClassify(func(tool.Call, struct{}) tool.Traits { return tool.Traits{Internal: true} })
}
