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
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/examples/internal/pick"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
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

	shared := new(team.Memory) // a team.Dir outlives the program and serves several
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

// model plays the leader and both members.
func model() llm.Model {
	use := func(tool string, in map[string]any) llmtest.Step { return llmtest.Call(llmtest.Use("", tool, in)) }
	member := func(name, prompt string) llmtest.Step {
		return use("Agent", map[string]any{"name": name, "team_name": "greeting", "description": "The " + name, "prompt": prompt, "subagent_type": "general-purpose"})
	}
	say := func(text string) llmtest.Step { return llmtest.Step{Text: text} }
	lead := func(r *llmtest.Request, _ int) llmtest.Step {
		seen := func(text string) bool { return strings.Contains(r.Transcript(), text) }
		switch {
		case !seen("Team created"):
			return use("TeamCreate", map[string]any{"name": "greeting", "members": []string{"builder", "tester"}})
		case !seen("Wait for the builder's"):
			return member("tester", "Wait for the builder's message, then test.")
		case seen("I wait.") && !seen("Write the greeting into"):
			return member("builder", "Write the greeting into hello.txt, then tell the tester.")
		case !seen("The greeting is right."):
			return say("They are at it.") // what they come to is told
		}
		return say("The greeting is written and tested.")
	}
	return pick.Cast(map[string]llmtest.Rule{
		"Have the greeting":    lead,
		"Wait for the builder": llmtest.Steps(say("I wait."), use("Read", map[string]any{"file_path": "hello.txt"}), say("The greeting is right.")),
		"Write the greeting": llmtest.Steps(use("Write", map[string]any{"file_path": "hello.txt", "content": "hello\n"}),
			use("SendMessage", map[string]any{"to": "tester", "message": "hello.txt is there, please test"}), say("The greeting is written.")),
	})
}
