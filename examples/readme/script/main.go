package main

import (
	"context"
	"fmt"
	"log"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

func main() {
	ws := &workspace.Workspace{Root: "."}
	defer ws.Close()
	model := llmtest.Script( // two answers: a call of a tool, and a text
		llmtest.Call(llmtest.Use("", "Glob", map[string]string{"pattern": "*.go"})),
		llmtest.Say("It is a Go program."))
	a := &agent.Agent{Model: model, Tools: tools.Core(ws), Budget: agent.Budget{USD: 0.50}}
	res, err := a.Prompt(context.Background(), "What does this project do?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Text, res.Turns, "turns,", res.Tools["Glob"].Calls, "call of Glob")
}
