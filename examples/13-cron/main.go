// Cron lets an agent schedule work, and runs it. Prompts run in their own sessions. Commands need
// the agent's permissions.
//
// Run it with: go run ./examples/13-cron
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cron"
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

func run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "cron")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ws := &workspace.Workspace{Root: filepath.Join(dir, "work")}
	if err := os.Mkdir(ws.Root, 0o755); err != nil {
		return err
	}
	defer ws.Close()
	a := &agent.Agent{
		Model:       model(),
		Dir:         ws.Root,
		Permissions: permission.Policy{Allow: []permission.Rule{"CronCreate", "Bash(ls)", "Bash(wc *)"}},
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var jobs []cron.Job
	first := map[string]string{} // what came of each job, once
	s := &cron.Scheduler{
		Store: cron.File(filepath.Join(dir, "jobs.json")), // what is scheduled outlives the program
		Fire:  func(ctx context.Context, j cron.Job, _ time.Time) (string, error) { return fire(ctx, a, j) },
		Report: func(j cron.Job, status, note string) {
			if _, ok := first[j.ID]; !ok && status != "skipped" { // skipped: the run before has not ended
				first[j.ID] = fmt.Sprintf("%s %s: %s", j.Name, status, note)
			}
			if len(first) == len(jobs) {
				stop()
			}
		},
	}
	c := tools.Crontab{Jobs: s.Store, Running: s.Running}
	a.Tools = []tool.Tool{tools.CronCreate(c), tools.CronList(c), tools.CronDelete(c), tools.Bash(ws)}

	res, err := a.Prompt(ctx, "Greet me every second, count my files, and tidy up.")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, res.Text)
	if jobs, err = s.Store.Jobs(ctx); err != nil || len(jobs) == 0 {
		return err
	}
	if err := s.Run(ctx); err != nil { // ends with ctx
		return err
	}
	for _, j := range jobs {
		fmt.Fprintln(out, first[j.ID])
	}
	return nil
}

// fire runs a job: a prompt in a session of its own, a command as a call of Bash
// that no model made. Nobody is there to be asked, so only rules and mode permit.
func fire(ctx context.Context, a *agent.Agent, j cron.Job) (string, error) {
	if j.Prompt != "" {
		res, err := a.Prompt(ctx, j.Prompt)
		if err != nil {
			return "", err
		}
		return res.Text, nil
	}
	input, err := json.Marshal(map[string]string{"command": j.Command})
	if err != nil {
		return "", err
	}
	res, err := a.CallTool(ctx, "Bash", input)
	switch {
	case err != nil:
		return "", err
	case res.IsError:
		return "", errors.New(res.Text())
	}
	return res.Text(), nil
}
