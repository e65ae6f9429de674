package main

import (
	"context"
	"fmt"
	"log"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

func main() {
	ws := &workspace.Workspace{Root: "."} // the folder that the tools work in
	defer ws.Close()                      // ends every command that they started

	a := &agent.Agent{
		Model:       anthropic.Model("claude-sonnet-4-6"), // key from ANTHROPIC_API_KEY
		Tools:       tools.Core(ws),
		Permissions: permission.Policy{Mode: permission.AcceptEdits, Deny: []permission.Rule{"Bash(rm *)"}},
		Budget:      agent.Budget{Turns: 30, USD: 0.50},
	}
	for e, err := range a.Stream(context.Background(), "Why does the build fail?") {
		if err != nil {
			log.Fatal(err)
		}
		switch d := e.Data.(type) {
		case event.TextDelta: // text of the model, while it is written
			fmt.Print(d.Text)
		case event.ToolResult:
			fmt.Printf("\n[a tool answered: %d bytes]\n", len(d.Result.Text()))
		case event.RunEnd: // every run ends with a reason
			fmt.Printf("\n%s after %d turns\n", d.Reason, d.Turns)
		}
	}
}
