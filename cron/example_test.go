package cron_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cron"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// An agent schedules a prompt for itself, and the program that it lives in fires
// it. With [cron.File] the schedule outlives the program.
func ExampleScheduler() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	model := llmtest.Script(
		llmtest.Call(llmtest.Use("1", "CronCreate", map[string]string{"name": "greeting", "schedule": "@every 1s", "prompt": "Say hello."})),
		llmtest.Step{Text: "I will greet you every second."},
		llmtest.Step{Text: "Hello!"},
	)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	a := &agent.Agent{Model: model, Dir: dir, Permissions: permission.Policy{Allow: []permission.Rule{"CronCreate"}}}
	s := &cron.Scheduler{
		Store: cron.Memory(),
		Fire: func(ctx context.Context, j cron.Job, _ time.Time) (string, error) {
			res, err := a.Prompt(ctx, j.Prompt) // in a new session, with the agent's permissions
			if err != nil {
				return "", err
			}
			return res.Text, nil
		},
		Report: func(j cron.Job, status, note string) {
			fmt.Println(j.Name, status, note)
			cancel()
		},
	}
	c := tools.Crontab{Jobs: s.Store, Running: s.Running}
	a.Tools = []tool.Tool{tools.CronCreate(c), tools.CronDelete(c), tools.CronList(c)}

	stopped := make(chan error)
	go func() { stopped <- s.Run(ctx) }()
	res, err := a.Prompt(ctx, "Greet me every second.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Text)
	if err := <-stopped; err != nil {
		log.Fatal(err)
	}
	// Output:
	// I will greet you every second.
	// greeting done Hello!
}
