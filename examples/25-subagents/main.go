// Subagents lets a coordinator start two agents at once, each for a part of the question, and
// combine their answers. You see their calls as they happen. Their cost counts as the
// coordinator's.
//
// Run it with: go run ./examples/25-subagents
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "subagents")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"server.go": "package main // listens on 8080\n", "client.go": "package main // retries 3 times\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	ws := &workspace.Workspace{Root: dir}
	defer ws.Close()

	manager := &subagent.Manager{} // general-purpose, Explore and Plan are always there
	a := &agent.Agent{
		Model:  model(),
		System: "You are a coordinator. Put an Explore agent to work on each part of a question, all in one answer, then sum up.",
		Dir:    dir,
		Tools:  append(tools.Core(ws), tools.Agent(manager)),
	}
	s := a.Session("")
	defer s.Close()
	calls := map[string]int{}
	for e, err := range s.Stream(ctx, "What do the server and the client do?") {
		if err != nil {
			return err
		}
		switch d := e.Data.(type) {
		case event.AgentEvent: // of an agent that is at work
			if m, ok := d.Event.Data.(event.AssistantMessage); ok {
				calls[d.Agent] += len(m.Response.Message.ToolUses())
			}
		case event.AgentEnd:
			fmt.Fprintf(out, "an agent is done: %s after %d turns\n", d.Reason, d.Turns)
		}
	}
	res := s.Result()
	for _, name := range slices.Sorted(maps.Keys(res.Agents)) {
		fmt.Fprintf(out, "%s made %d call and used %d of the run's %d tokens of output\n", name, calls[name], res.Agents[name].Usage.Output, res.Usage.Output)
	}
	fmt.Fprintln(out, res.Text)
	return nil
}
