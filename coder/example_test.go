package coder_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/coder"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
)

// A coding agent works in one folder. A script plays the model here; name a model with
// Options.Model instead.
func ExampleNew() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "project")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	c, err := coder.New(ctx, coder.Options{
		Dir: dir,
		Agent: agent.Agent{
			Model: llmtest.Script(
				llmtest.Call(llmtest.Use("", "Write", map[string]string{"file_path": "hello.txt", "content": "hello"})),
				llmtest.Say("I wrote hello.txt.")),
			Permissions: permission.Policy{Mode: permission.AcceptEdits},
			Budget:      agent.Budget{Turns: 20},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	res, err := c.Prompt(ctx, "Write a greeting into a file.")
	if err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "hello.txt"))
	fmt.Println(res.Text, string(text), err)
	// Output: I wrote hello.txt. hello <nil>
}

// Trust decides about each file of a project that could run programs.
func ExampleOptions_trust() {
	trust := func(ctx context.Context, s coder.Source) (bool, error) {
		return s.Kind == "skills", nil // texts, but no hooks, servers and tools
	}
	c, err := coder.New(context.Background(), coder.Options{Trust: trust, Agent: agent.Agent{Model: llmtest.Script()}})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	fmt.Println(len(c.Agent.Hooks), c.Servers == nil)
	// Output: 0 true
}
