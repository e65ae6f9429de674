// Team lets a leader start two members that send each other messages. The tester waits until the
// builder's message wakes it. When both are done, the leader ends the team.
//
// Run it with: go run ./examples/27-team
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
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
	dir, err := os.MkdirTemp("", "team")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ws := &workspace.Workspace{Root: dir}
	defer ws.Close()

	shared := team.Memory() // a teamstore.Dir outlives the program and serves several
	manager := &subagent.Manager{Team: shared}
	a := &agent.Agent{
		Model:       model(),
		Dir:         dir,
		Permissions: permission.Policy{Mode: permission.AcceptEdits},
		Tools:       append(tools.Core(ws), tools.Agent(manager), tools.TeamCreate(shared), tools.TeamDelete(shared), tools.SendMessage(shared)),
		Inbox:       manager.Inbox(""), // what members write to the leader
		AwaitAgents: true,              // an answer comes when nobody is at work any more
	}
	s := a.Session("")
	defer s.Close()
	for e, err := range s.Stream(ctx, "Have the greeting written and tested by a team.") {
		if err != nil {
			return err
		}
		if d, ok := e.Data.(event.AgentEvent); ok && d.Agent == "tester" {
			if m, ok := d.Event.Data.(event.AssistantMessage); ok && m.Response.Message.Text() != "" {
				fmt.Fprintf(out, "%s: %s\n", d.Agent, m.Response.Message.Text())
			}
		}
	}
	fmt.Fprintln(out, s.Result().Text)
	return nil
}
