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
	"regexp"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/examples/internal/pick"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
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
	list := new(team.Memory)
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
	tasks, err := list.Tasks(ctx, s.ID, team.Filter{})
	if err != nil {
		return err
	}
	for _, t := range tasks {
		fmt.Fprintf(out, "  %s: %s, %s\n", t.ID, t.Subject, t.Status)
	}
	return nil
}

// claim is a tool of our own: it takes the next task for the agent that calls it.
func claim(list team.Tasks) tool.Tool {
	return tool.New(tool.Spec{Name: "Claim", Description: "Takes the next task of the list for you, or says that there is none."},
		func(ctx context.Context, call tool.Call, _ struct{}) (*tool.Result, error) {
			t, err := team.Claim(ctx, list, cmp.Or(call.Root, call.Session), call.Agent, 0)
			if err != nil {
				return tool.Text("none: " + err.Error()), nil
			}
			return tool.Text(fmt.Sprintf("%s: %s", t.ID, t.Subject)), nil
		}).OnClassify(func(tool.Call, struct{}) tool.Traits { return tool.Traits{Internal: true} })
}

// model plays the one who fills the list and the workers.
func model() llm.Model {
	use := func(name string, in map[string]any) llm.ToolUse { return llmtest.Use("", name, in) }
	fill := llmtest.Step{}
	for i := range 8 {
		fill.Calls = append(fill.Calls, use("TaskCreate", map[string]any{"subject": fmt.Sprintf("Look at part %d", i+1)}))
	}
	last := llmtest.Call(use("TaskCreate", map[string]any{"subject": "Sum up", "blockedBy": []string{"1", "2", "3", "4", "5", "6", "7", "8"}}))
	start := llmtest.Step{}
	for i := range 3 {
		name := fmt.Sprintf("worker-%d", i+1)
		start.Calls = append(start.Calls, use("Agent", map[string]any{"name": name, "description": "Worker", "prompt": "Take tasks with Claim until there is none.", "subagent_type": "general-purpose"}))
	}
	worker := func(r *llmtest.Request, _ int) llmtest.Step {
		results := r.Results()
		if len(results) == 0 || results[0].Use.Name == "TaskUpdate" {
			return llmtest.Call(use("Claim", nil))
		}
		task := regexp.MustCompile(`^task_\d+`).FindString(results[0].Text)
		if task == "" {
			return llmtest.Step{Text: "There is nothing left for me."}
		}
		return llmtest.Call(use("TaskUpdate", map[string]any{"id": task, "status": "completed", "output": "done"}))
	}
	return pick.Cast(map[string]llmtest.Rule{
		"Take tasks": worker,
		"Work off":   llmtest.Steps(fill, last, start, llmtest.Step{Text: "The list is worked off."}),
	})
}
