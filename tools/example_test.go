package tools_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// Core is the tools for work on files, commands and the web.
func ExampleCore() {
	dir, err := os.MkdirTemp("", "core")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ws := &workspace.Workspace{Root: dir}
	defer ws.Close()
	a := &agent.Agent{
		Model: llmtest.Script(
			llmtest.Call(llmtest.Use("", "Write", map[string]string{"file_path": "hello.txt", "content": "Hello.\n"})),
			llmtest.Say("I wrote hello.txt.")),
		Dir:         dir,
		Tools:       tools.Core(ws),
		Permissions: permission.Policy{Mode: permission.AcceptEdits},
	}
	res, err := a.Prompt(context.Background(), "Write a greeting.")
	if err != nil {
		fmt.Println(err)
		return
	}
	text, _ := os.ReadFile(filepath.Join(dir, "hello.txt"))
	fmt.Printf("%s %s", res.Text, text)
	// Output:
	// I wrote hello.txt. Hello.
}

// Builtins makes the tools for which you give it something to work on.
func ExampleBuiltins() {
	for _, e := range (tools.Builtins{Team: team.Memory()}).Tools() {
		if name := e.Tool.Spec().Name; strings.HasPrefix(name, "Task") {
			fmt.Println(name)
		}
	}
	// Output:
	// TaskCreate
	// TaskGet
	// TaskList
	// TaskOutput
	// TaskStop
	// TaskUpdate
}
