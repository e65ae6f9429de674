package main

import (
	"context"
	"fmt"
	"log"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

func main() {
	ws := &workspace.Workspace{Root: "."}         // the folder that the tools work in
	defer ws.Close()                              // ends every command that they started
	model := anthropic.Model("claude-sonnet-4-6") // key from ANTHROPIC_API_KEY
	a := &agent.Agent{Model: model, Tools: tools.Core(ws), Budget: agent.Budget{USD: 0.50}}
	res, err := a.Prompt(context.Background(), "What does this project do?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Text)
}
