// Command core is the smallest program with the core tools.
package main

import (
	"context"
	"fmt"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

func main() {
	ws := &workspace.Workspace{Root: "."}
	defer ws.Close()
	a := &agent.Agent{Model: anthropic.Model("claude-sonnet-4-6"), Tools: tools.Core(ws)}
	fmt.Println(a.Prompt(context.Background(), "hi"))
}
